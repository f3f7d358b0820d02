"""From a ranking to an answer: select, fit the budget, render, explain."""
