package notice

import (
	"errors"
	"net/netip"
	"slices"
)

var errPrivate = errors.New("address is private")

// refusePrivate refuses an address (with its port) that is not on the public internet.
func refusePrivate(address string) error {
	host, err := netip.ParseAddrPort(address)
	if err != nil || isPrivate(host.Addr()) {
		return errPrivate
	}
	return nil
}

// isPrivate reports whether an address might be in a private network. In IPv6, only the space assigned to the public
// internet is public. So the old notations for an IPv4 address inside IPv6 (NAT64, IPv4-compatible, translated) are
// private, whatever they contain. A mapped IPv4 address is treated as that IPv4 address, because that is how the system
// connects to it.
func isPrivate(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is6() && !publicIPv6.Contains(a) {
		return true
	}
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() ||
		slices.ContainsFunc(privateNetworks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// publicIPv6 is the space that IANA assigns as global unicast (RFC 4291, section 2.4).
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// privateNetworks lists the networks in the special-purpose registries (RFC 6890) for which net/netip has no method.
var privateNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),     // this network; Linux connects some of it to itself
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT (RFC 6598)
	netip.MustParsePrefix("192.0.0.0/24"),  // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks between networks (RFC 2544)
	netip.MustParsePrefix("240.0.0.0/4"),   // reserved, and broadcast
	netip.MustParsePrefix("2001::/32"),     // Teredo: an IPv4 address behind a NAT
	netip.MustParsePrefix("2002::/16"),     // 6to4: any IPv4 address; deprecated by RFC 7526
}
