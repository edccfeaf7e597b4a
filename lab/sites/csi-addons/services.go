package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/csi-addons/kubernetes-csi-addons/internal/proto"
	"github.com/csi-addons/spec/lib/go/identity"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type identityServer struct {
	identity.UnimplementedIdentityServer
	driver string
}

func (s *identityServer) GetIdentity(context.Context, *identity.GetIdentityRequest) (*identity.GetIdentityResponse, error) {
	return &identity.GetIdentityResponse{Name: s.driver, VendorVersion: "lab"}, nil
}

func (s *identityServer) GetCapabilities(context.Context, *identity.GetCapabilitiesRequest) (*identity.GetCapabilitiesResponse, error) {
	fence := func(kind identity.Capability_NetworkFence_Type) *identity.Capability {
		return &identity.Capability{Type: &identity.Capability_NetworkFence_{NetworkFence: &identity.Capability_NetworkFence{Type: kind}}}
	}
	group := func(kind identity.Capability_VolumeGroup_Type) *identity.Capability {
		return &identity.Capability{Type: &identity.Capability_VolumeGroup_{VolumeGroup: &identity.Capability_VolumeGroup{Type: kind}}}
	}
	return &identity.GetCapabilitiesResponse{Capabilities: []*identity.Capability{
		{Type: &identity.Capability_Service_{Service: &identity.Capability_Service{Type: identity.Capability_Service_CONTROLLER_SERVICE}}},
		{Type: &identity.Capability_VolumeReplication_{VolumeReplication: &identity.Capability_VolumeReplication{
			Type: identity.Capability_VolumeReplication_VOLUME_REPLICATION,
		}}},
		fence(identity.Capability_NetworkFence_NETWORK_FENCE),
		fence(identity.Capability_NetworkFence_GET_CLIENTS_TO_FENCE),
		group(identity.Capability_VolumeGroup_VOLUME_GROUP),
		group(identity.Capability_VolumeGroup_MODIFY_VOLUME_GROUP),
		group(identity.Capability_VolumeGroup_GET_VOLUME_GROUP),
	}}, nil
}

func (s *identityServer) Probe(context.Context, *identity.ProbeRequest) (*identity.ProbeResponse, error) {
	return &identity.ProbeResponse{}, nil
}

// fences are the addresses that each site's storage refuses to serve.
type fences struct {
	mu      sync.Mutex
	blocked map[string]map[string]bool
}

type fenceServer struct {
	proto.UnimplementedNetworkFenceServer
	site   string
	fences *fences
}

func (s *fenceServer) set(cidrs []string, blocked bool) {
	s.fences.mu.Lock()
	defer s.fences.mu.Unlock()
	if s.fences.blocked[s.site] == nil {
		s.fences.blocked[s.site] = map[string]bool{}
	}
	for _, cidr := range cidrs {
		if blocked {
			s.fences.blocked[s.site][cidr] = true
		} else {
			delete(s.fences.blocked[s.site], cidr)
		}
	}
}

func (s *fenceServer) FenceClusterNetwork(_ context.Context, req *proto.NetworkFenceRequest) (*proto.NetworkFenceResponse, error) {
	s.set(req.GetCidrs(), true)
	return &proto.NetworkFenceResponse{}, nil
}

func (s *fenceServer) UnFenceClusterNetwork(_ context.Context, req *proto.NetworkFenceRequest) (*proto.NetworkFenceResponse, error) {
	s.set(req.GetCidrs(), false)
	return &proto.NetworkFenceResponse{}, nil
}

func (s *fenceServer) GetFenceClients(context.Context, *proto.FenceClientsRequest) (*proto.FenceClientsResponse, error) {
	return &proto.FenceClientsResponse{Clients: []*proto.ClientDetails{{Id: s.site, Cidrs: []string{"192.0.2.0/24"}}}}, nil
}

func (f *fences) list() map[string][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[string][]string{}
	for site, blocked := range f.blocked {
		found[site] = slices.AppendSeq([]string{}, maps.Keys(blocked))
		slices.Sort(found[site])
	}
	return found
}

// groups are the volume groups of each site, by their id.
type groups struct {
	mu   sync.Mutex
	byID map[string][]string
}

type groupServer struct {
	proto.UnimplementedVolumeGroupControllerServer
	site   string
	groups *groups
}

func (g *groups) key(site, id string) string { return site + "/" + id }

func (g *groups) members(site, id string) ([]string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	members, ok := g.byID[g.key(site, id)]
	return slices.Clone(members), ok
}

func (s *groupServer) put(id string, volumes []string) *proto.VolumeGroup {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	s.groups.byID[s.groups.key(s.site, id)] = slices.Clone(volumes)
	return &proto.VolumeGroup{VolumeGroupId: id, VolumeIds: volumes}
}

func (s *groupServer) CreateVolumeGroup(_ context.Context, req *proto.CreateVolumeGroupRequest) (*proto.CreateVolumeGroupResponse, error) {
	return &proto.CreateVolumeGroupResponse{VolumeGroup: s.put(fmt.Sprintf("group-%s", req.GetName()), req.GetVolumeIds())}, nil
}

func (s *groupServer) ModifyVolumeGroupMembership(_ context.Context, req *proto.ModifyVolumeGroupMembershipRequest) (*proto.ModifyVolumeGroupMembershipResponse, error) {
	if _, ok := s.groups.members(s.site, req.GetVolumeGroupId()); !ok {
		return nil, status.Errorf(codes.NotFound, "no volume group %s", req.GetVolumeGroupId())
	}
	return &proto.ModifyVolumeGroupMembershipResponse{VolumeGroup: s.put(req.GetVolumeGroupId(), req.GetVolumeIds())}, nil
}

func (s *groupServer) DeleteVolumeGroup(_ context.Context, req *proto.DeleteVolumeGroupRequest) (*proto.DeleteVolumeGroupResponse, error) {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	delete(s.groups.byID, s.groups.key(s.site, req.GetVolumeGroupId()))
	return &proto.DeleteVolumeGroupResponse{}, nil
}

func (s *groupServer) ControllerGetVolumeGroup(_ context.Context, req *proto.ControllerGetVolumeGroupRequest) (*proto.ControllerGetVolumeGroupResponse, error) {
	members, ok := s.groups.members(s.site, req.GetVolumeGroupId())
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no volume group %s", req.GetVolumeGroupId())
	}
	return &proto.ControllerGetVolumeGroupResponse{VolumeGroup: &proto.VolumeGroup{VolumeGroupId: req.GetVolumeGroupId(), VolumeIds: members}}, nil
}
