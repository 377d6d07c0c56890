"""Runs of operators that move, index, reduce, draw, and go over the ranks: honest ones, and ways to spoil them.

Everything is computed with NumPy and PyTorch, independently of Assay, in more than one honest order.
"""
import golden_cases_folds
import golden_cases_moves
import golden_cases_places

CASES = golden_cases_moves.CASES + golden_cases_places.CASES + golden_cases_folds.CASES
