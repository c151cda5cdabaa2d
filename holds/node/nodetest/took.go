package nodetest

import "time"

// nap is what Took counts in.
const nap = 5 * time.Millisecond

// Took makes a call and returns how long it took of the time that this process was given. It counts naps that another goroutine takes
// meanwhile, each for as long as it should have been: who waits for an answer that does not come waits for all of them, and a process that
// a busy machine leaves aside takes none.
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
