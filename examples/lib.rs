//! The examples of kubelease; each is a program of its own.
