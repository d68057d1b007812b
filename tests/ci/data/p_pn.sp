! the 0p shell, protons and neutrons
pn
4 2
4
2 2 2
1 1 1 1
2 1 1 3
3 1 1 1
4 1 1 3
