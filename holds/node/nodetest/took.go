package nodetest

import "time"

// nap is the unit that Took counts in.
const nap = 5 * time.Millisecond

// takes reports whether a request contains one of these texts. If so, it removes that text from the list.
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
