! the 0p shell
iso
2
 0.0 1.0 0.5 1
 0.0 1.0 1.5 1
