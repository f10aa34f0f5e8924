"""``python -m upwind`` is the command line."""

from upwind.cli import main

if __name__ == "__main__":
    main()
