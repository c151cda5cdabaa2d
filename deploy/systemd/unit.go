// Package systemd carries the unit by which systemd runs the server: the one file that the Debian package and holdfast service install.
package systemd

import _ "embed"

// Unit is holdfast.service.
//
//go:embed holdfast.service
var Unit string
