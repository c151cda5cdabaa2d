// Command holdfast is an appointment server in one binary. Package cli is its manual; README.md is the tour.
package main

import (
	"os"

	// The zone database travels inside the binary, so that every machine knows every zone, and the same rules of it.
	_ "time/tzdata"

	"holdfast/cli"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version string

func main() { os.Exit(cli.Main(version)) }
