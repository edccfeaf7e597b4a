module plumbline.dev/bench/checks-cpu

go 1.26
