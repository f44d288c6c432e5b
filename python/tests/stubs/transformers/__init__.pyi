# So that mypy does not read transformers where it is installed.
