// Command node-address tells which address programs of a cluster take for the node's, whenever that changes: one JSON object a line. The first argument is the
// interface of the default route.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// What Calico leaves out when it looks for the first interface.
var calicoExcludes = regexp.MustCompile(`^(docker|cbr|dummy|virbr|lxcbr|veth|cali|tunl|flannel|kube-ipvs|cni|nodelocaldns)|^(lo|vxlan\.calico|vxlan-v6\.calico|wireguard\.cali|wg-v6\.cali)$`)

func main() {
	before := ""
	for {
		line, err := json.Marshal(map[string]string{
			// kubelet without --node-ip where the hostname does not resolve, and k3s for the first address.
			"ChooseHostInterface": text(utilnet.ChooseHostInterface()),
			// kubelet and the API server; k3s asks for ::1 to find the IPv6 address.
			"ResolveBindAddress 0.0.0.0": text(utilnet.ResolveBindAddress(net.IPv4zero)),
			"ResolveBindAddress ::":      text(utilnet.ResolveBindAddress(net.IPv6zero)),
			"ResolveBindAddress ::1":     text(utilnet.ResolveBindAddress(net.IPv6loopback)),
			"flannel IPv4":               text(flannel(os.Args[1], true)),
			"flannel IPv6":               text(flannel(os.Args[1], false)),
			"Calico first-found IPv4":    text(firstFound(true)),
			"Calico first-found IPv6":    text(firstFound(false)),
		})
		if err != nil {
			panic(err)
		}
		if string(line) != before {
			before = string(line)
			fmt.Println(before)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The rule of flannel: the first global unicast address of the interface of the default route.
func flannel(name string, four bool) (net.IP, error) {
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	return firstGlobal(*iface, four)
}

// The rule of Calico's default: the first such address of the interfaces that are up, by their index.
func firstFound(four bool) (net.IP, error) {
	ifaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, iface := range ifaces {
		if iface.Flags&net.FlagUp == 0 || calicoExcludes.MatchString(iface.Name) {
			continue
		}
		if ip, err := firstGlobal(iface, four); err == nil {
			return ip, nil
		}
	}
	return nil, fmt.Errorf("no interface has an address")
}

func firstGlobal(iface net.Interface, four bool) (net.IP, error) {
	addrs, err := iface.Addrs()
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if ipNet, ok := addr.(*net.IPNet); ok && (ipNet.IP.To4() != nil) == four && ipNet.IP.IsGlobalUnicast() {
			return ipNet.IP, nil
		}
	}
	return nil, fmt.Errorf("%s has no address", iface.Name)
}

func text(ip net.IP, err error) string {
	if err != nil {
		return err.Error()
	}
	return ip.String()
}
