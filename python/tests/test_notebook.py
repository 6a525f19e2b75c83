"""The example notebook prints what it shows, when it is run from the top and when a cell is run again."""

import glob
import os
import unittest

import notebook

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python")


class Notebook(unittest.TestCase):
    def test_prints_what_it_shows(self):
        paths = glob.glob(os.path.join(FOLDER, "*.ipynb"))
        self.assertTrue(paths)
        for path in paths:
            names = {"__name__": "__main__"}
            cells = notebook.code_cells(notebook.read(path))
            self.assertTrue(any(notebook.recorded(cell) for cell in cells))
            for cell in cells:
                self.assertEqual(notebook.printed(cell, names), notebook.recorded(cell))
                self.assertEqual(notebook.printed(cell, names), notebook.recorded(cell), "run again")

    def test_is_a_notebook(self):
        for path in glob.glob(os.path.join(FOLDER, "*.ipynb")):
            read = notebook.read(path)
            self.assertEqual((read["nbformat"], read["nbformat_minor"]), (4, 5))
            self.assertEqual(len({cell["id"] for cell in read["cells"]}), len(read["cells"]))
            for cell in notebook.code_cells(read):
                self.assertIsInstance(cell["execution_count"], int)


if __name__ == "__main__":
    unittest.main()
