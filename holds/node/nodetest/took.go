package nodetest

import "time"

// nap is the unit of time in which Took counts.
const nap = 5 * time.Millisecond

// Took runs a call and returns how long it took, counting only the time during which this process could run. Another
// goroutine takes naps during the call, and Took counts each nap at its nominal length. So a call that waits for a
// missing response takes as long as it waits, but a busy machine that does not schedule this process adds nothing.
func Took(call func()) time.Duration {
	over, naps := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				naps <- n
				return
			case <-time.After(nap):
			}
		}
	}()
	func() {
		defer close(over)
		call()
	}()
	return time.Duration(<-naps) * nap
}
