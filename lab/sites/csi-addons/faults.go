package main

import (
	"context"
	"path"
	"sync"
	"time"

	"github.com/csi-addons/kubernetes-csi-addons/internal/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault is what is wrong with calls of a site; an empty volume or RPC means any.
type Fault struct {
	Site   string `json:"site"`
	Volume string `json:"volume"`
	RPC    string `json:"rpc"`
	// Code of the error that is answered instead of carrying the call out.
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
	// DelayMs passes before the call is carried out.
	DelayMs int `json:"delayMs"`
	// LosesAnswer: the call is carried out, and its caller gets an error.
	LosesAnswer bool `json:"losesAnswer"`
	// Never: there is no answer until the fault is gone.
	Never bool `json:"never"`
	// Times is how many calls it is about; zero means all.
	Times int `json:"times"`
}

type faults struct {
	mu      sync.Mutex
	list    []*Fault
	changed chan struct{}
}

func newFaults() *faults {
	return &faults{changed: make(chan struct{})}
}

// set replaces the faults of this volume and RPC at the site; without a fault it only removes them.
func (f *faults) set(where Fault, fault *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := make([]*Fault, 0, len(f.list)+1)
	for _, one := range f.list {
		if one.Site != where.Site || one.Volume != where.Volume || (where.RPC != "" && one.RPC != where.RPC) {
			kept = append(kept, one)
		}
	}
	if fault != nil {
		kept = append(kept, fault)
	}
	f.list = kept
	close(f.changed)
	f.changed = make(chan struct{})
}

// next is the fault of a call, and a channel that is closed when faults change.
func (f *faults) next(site, volume, rpc string) (*Fault, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, one := range f.list {
		if one.Site != site || (one.Volume != "" && one.Volume != volume) || (one.RPC != "" && one.RPC != rpc) {
			continue
		}
		found := *one
		if one.Times > 0 {
			one.Times--
			if one.Times == 0 {
				f.list = append(f.list[:at:at], f.list[at+1:]...)
			}
		}
		return &found, f.changed
	}
	return nil, f.changed
}

// interceptor puts the faults of a site between its caller and the storage.
func (f *faults) interceptor(site string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		volume, rpc := volumeOf(req), path.Base(info.FullMethod)
		for {
			fault, changed := f.next(site, volume, rpc)
			switch {
			case fault == nil:
				return handler(ctx, req)
			case fault.Never:
				select {
				case <-changed:
					continue
				case <-ctx.Done():
					return nil, status.FromContextError(ctx.Err()).Err()
				}
			}
			select {
			case <-time.After(time.Duration(fault.DelayMs) * time.Millisecond):
			case <-ctx.Done():
				return nil, status.FromContextError(ctx.Err()).Err()
			}
			if fault.Code != codes.OK {
				return nil, status.Error(fault.Code, fault.Message)
			}
			answer, err := handler(ctx, req)
			if fault.LosesAnswer {
				return nil, status.Error(codes.Unavailable, "the answer was lost")
			}
			return answer, err
		}
	}
}

func volumeOf(req any) string {
	source, ok := req.(interface {
		GetReplicationSource() *proto.ReplicationSource
	})
	if !ok {
		return ""
	}
	if group := source.GetReplicationSource().GetVolumeGroup(); group != nil {
		return group.GetVolumeGroupId()
	}
	return source.GetReplicationSource().GetVolume().GetVolumeId()
}
