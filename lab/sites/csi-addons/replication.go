package main

import (
	"context"

	"github.com/csi-addons/kubernetes-csi-addons/internal/proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// replication serves the calls that the controller makes for a VolumeReplication. A group is handled as all of its volumes, or none.
type replication struct {
	proto.UnimplementedReplicationServer
	site      string
	storage   *storage
	groups    *groups
	inspector *inspector
}

// volumes has to be called with the storage's lock.
func (r *replication) volumes(source *proto.ReplicationSource) ([]*volume, error) {
	names := []string{source.GetVolume().GetVolumeId()}
	if group := source.GetVolumeGroup(); group != nil {
		members, ok := r.groups.members(r.site, group.GetVolumeGroupId())
		if !ok {
			return nil, status.Errorf(codes.NotFound, "no volume group %s", group.GetVolumeGroupId())
		}
		names = members
	}
	volumes := make([]*volume, 0, len(names))
	for _, name := range names {
		volumes = append(volumes, r.storage.volume(name))
	}
	return volumes, nil
}

// on runs work on each volume of the source, all under one lock.
func (r *replication) on(source *proto.ReplicationSource, works ...func(*volume) error) error {
	r.storage.mu.Lock()
	defer r.storage.mu.Unlock()
	volumes, err := r.volumes(source)
	if err != nil {
		return err
	}
	for _, work := range works {
		for _, v := range volumes {
			if err := work(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *replication) EnableVolumeReplication(_ context.Context, req *proto.EnableVolumeReplicationRequest) (*proto.EnableVolumeReplicationResponse, error) {
	return &proto.EnableVolumeReplicationResponse{}, r.on(req.GetReplicationSource())
}

func (r *replication) DisableVolumeReplication(_ context.Context, req *proto.DisableVolumeReplicationRequest) (*proto.DisableVolumeReplicationResponse, error) {
	return &proto.DisableVolumeReplicationResponse{}, r.on(req.GetReplicationSource())
}

func (r *replication) PromoteVolume(_ context.Context, req *proto.PromoteVolumeRequest) (*proto.PromoteVolumeResponse, error) {
	check := func(v *volume) error {
		if req.GetForce() {
			return nil
		}
		return r.storage.promotable(v, r.site)
	}
	promote := func(v *volume) error {
		r.storage.promote(v, r.site)
		return nil
	}
	return &proto.PromoteVolumeResponse{}, r.on(req.GetReplicationSource(), check, promote)
}

func (r *replication) DemoteVolume(ctx context.Context, req *proto.DemoteVolumeRequest) (*proto.DemoteVolumeResponse, error) {
	var primaries []string
	find := func(v *volume) error {
		if v.replicas[r.site].primary {
			primaries = append(primaries, v.name)
		}
		return nil
	}
	if err := r.on(req.GetReplicationSource(), find); err != nil {
		return nil, err
	}
	users := map[string]string{}
	for _, name := range primaries {
		users[name] = r.inspector.usersOf(ctx, r.site, name)
	}
	demote := func(v *volume) error {
		if users[v.name] != "" && v.replicas[r.site].primary {
			r.storage.damaged("DemotedInUse", v, r.site, users[v.name])
		}
		r.storage.demote(v, r.site)
		return nil
	}
	return &proto.DemoteVolumeResponse{}, r.on(req.GetReplicationSource(), demote)
}

func (r *replication) ResyncVolume(_ context.Context, req *proto.ResyncVolumeRequest) (*proto.ResyncVolumeResponse, error) {
	ready := true
	resync := func(v *volume) error {
		done, err := r.storage.resync(v, r.site, req.GetForce())
		ready = ready && done
		return err
	}
	err := r.on(req.GetReplicationSource(), resync)
	return &proto.ResyncVolumeResponse{Ready: ready}, err
}

// GetVolumeReplicationInfo answers for a primary only, as ceph-csi does.
func (r *replication) GetVolumeReplicationInfo(_ context.Context, req *proto.GetVolumeReplicationInfoRequest) (*proto.GetVolumeReplicationInfoResponse, error) {
	info := &proto.GetVolumeReplicationInfoResponse{Status: proto.GetVolumeReplicationInfoResponse_HEALTHY, StatusMessage: "replicating"}
	read := func(v *volume) error {
		own, other := v.replicas[r.site], r.storage.other(v, r.site)
		if !own.primary {
			return status.Errorf(codes.InvalidArgument, "%s is not primary", v.name)
		}
		if synced := timestamppb.New(own.synced); info.LastSyncTime == nil || synced.AsTime().Before(info.LastSyncTime.AsTime()) {
			info.LastSyncTime = synced
		}
		if r.storage.isCut(v) || (other != nil && (other.primary || other.diverged)) {
			info.Status, info.StatusMessage = proto.GetVolumeReplicationInfoResponse_DEGRADED, "not replicating"
		}
		return nil
	}
	return info, r.on(req.GetReplicationSource(), read)
}
