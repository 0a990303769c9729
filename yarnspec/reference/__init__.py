"""The pages that are rendered from declarations in the code: ``make docs`` writes them, a test compares them."""
