"""In scikit-learn's place: Keras 3 imports it wherever it is, which takes a fifth of the start of
each script that tests run, and takes its absence as it should."""
raise ImportError("scikit-learn is kept from scripts under test, see tests/conftest.py")
