"""Schedules: how a function class absorbs the forces; solvers that walk one step at a time and can be saved between steps."""
