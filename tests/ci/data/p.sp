! the 0p shell, as NuShell has it
t
4 2
2
1 2
1 1 1 1
2 1 1 3
