package timed

import "sync/atomic"

// Outage tracks whether a repeated call is failing, so that a log gets one line when it begins to fail and one when it
// works again. The zero value means that the call works. It is safe for concurrent use.
type Outage struct{ on atomic.Bool }

// Begins records a failure, and reports whether it is the first since the call worked.
func (o *Outage) Begins() bool { return !o.on.Swap(true) }

// Ends records a success, and reports whether it is the first since the call failed.
func (o *Outage) Ends() bool { return o.on.Load() && o.on.Swap(false) }
