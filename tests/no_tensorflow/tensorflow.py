"""In TensorFlow's place, for tests that need none: importing it takes seconds."""
