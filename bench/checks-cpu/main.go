// The least that a prober in Go does: so many connects at that pace, each with a deadline and timed, and one line of text for its result.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const timeout = 5 * time.Second

type entry struct {
	start   time.Time
	latency time.Duration
	success bool
	message string
}

func main() {
	connects, warmUp, perSecond, targets := number(os.Args[1]), number(os.Args[2]), number(os.Args[3]), os.Args[4:]
	entries := make([]entry, warmUp+connects)
	inFlight := make(chan struct{}, 1000)
	var ended sync.WaitGroup

	before := cpu()
	pace := time.NewTicker(time.Second / time.Duration(perSecond))
	for check := range entries {
		<-pace.C
		if check == warmUp {
			before = cpu()
		}
		inFlight <- struct{}{}
		ended.Add(1)
		go func() {
			defer ended.Done()
			entries[check] = try(targets[check%len(targets)])
			<-inFlight
		}()
	}
	ended.Wait()
	spent := cpu() - before

	reached := 0
	for _, entry := range entries[warmUp:] {
		if entry.success {
			reached++
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"cpuMs": float64(spent.Microseconds()) / 1000, "reached": reached})
}

func try(target string) entry {
	start := time.Now()
	connection, err := net.DialTimeout("tcp", target, timeout)
	latency := time.Since(start)
	if err != nil {
		return entry{start, latency, false, fmt.Sprintf("Failed connect to %s; %v", target, err)}
	}
	_ = connection.Close()
	return entry{start, latency, true, "Connected to " + target}
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}
