package nodetest

import "time"

// nap is the unit in which Took counts.
const nap = 5 * time.Millisecond

// Took runs a call and returns how long it took, measured in the time during which this process could run. Another
// goroutine takes naps during the call, and Took counts each nap at its nominal length. A call that waits for a
// missing answer waits through all naps. A process that a busy machine does not schedule takes none.
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
