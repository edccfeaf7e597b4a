// A storage driver for the lab: one or two simulated sites that mirror their volumes, each behind the gRPC interface that the csi-addons controller speaks to a
// driver's sidecar. Its module is named as if it were part of csi-addons because that interface is in an internal package there.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/csi-addons/kubernetes-csi-addons/internal/proto"
	"github.com/csi-addons/spec/lib/go/identity"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

func main() {
	driver := flag.String("driver", "", "name of the CSI driver")
	sites := flag.String("sites", "", "names of the sites, one or two, with a comma between them")
	socket := flag.String("control", "", "unix socket to be controlled by")
	inspect := flag.String("inspector", "", "unix socket of who knows the users of a volume")
	interval := flag.Duration("interval", time.Second, "between two snapshots")
	transfer := flag.Duration("transfer", 50*time.Millisecond, "time a snapshot takes to the other site")
	flag.Parse()

	names := strings.Split(*sites, ",")
	c := &control{
		storage: newStorage(names, *interval, *transfer),
		faults:  newFaults(),
		fences:  &fences{blocked: map[string]map[string]bool{}},
		ports:   map[string]int{},
		sites:   map[string]*replication{},
	}
	asking := newInspector(*inspect)
	groups := &groups{byID: map[string][]string{}}
	for _, site := range names {
		c.sites[site] = &replication{site: site, storage: c.storage, groups: groups, inspector: asking}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		server := grpc.NewServer(grpc.ChainUnaryInterceptor(logged(site), c.faults.interceptor(site)))
		identity.RegisterIdentityServer(server, &identityServer{driver: *driver})
		proto.RegisterReplicationServer(server, c.sites[site])
		proto.RegisterNetworkFenceServer(server, &fenceServer{site: site, fences: c.fences})
		proto.RegisterVolumeGroupControllerServer(server, &groupServer{site: site, groups: groups})
		c.ports[site] = listener.Addr().(*net.TCPAddr).Port
		go func() { log.Fatal(server.Serve(listener)) }()
	}
	go c.storage.run()
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, c.handler()))
}

func logged(site string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		answer, err := handler(ctx, req)
		log.Printf("%s %s %s: %s %v", site, path.Base(info.FullMethod), volumeOf(req), status.Code(err), answer)
		return answer, err
	}
}
