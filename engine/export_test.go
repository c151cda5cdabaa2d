package engine

import "time"

// SetWall sets the wall clock of an engine that is to be opened with these options, because the clock of a
// testing/synctest bubble cannot be set.
func SetWall(o *Options, wall func() time.Time) { o.wall = wall }
