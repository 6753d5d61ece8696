"""What children that multiprocessing starts anew find on their import path."""
