package engine

import "time"

// SetWall sets the wall clock of an engine that is not open yet. In a bubble of testing/synctest the clock itself
// cannot be set.
func SetWall(o *Options, wall func() time.Time) { o.wall = wall }
