// Package systemd embeds the systemd unit of the server. The Debian package and holdfast service install this one
// file.
package systemd

import _ "embed"

// Unit is holdfast.service.
//
//go:embed holdfast.service
var Unit string
