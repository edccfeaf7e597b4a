package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// tick is how often snapshots are taken, moved on and received.
const tick = 20 * time.Millisecond

// Damage is something that must not happen to data.
type Damage struct {
	Kind   string `json:"kind"`
	Site   string `json:"site"`
	Volume string `json:"volume"`
	Detail string `json:"detail"`
}

// storage mirrors every volume between its sites (one or two) by snapshots, as rbd-mirror does.
// A volume is mirrored from the first call that names it; creating a mirror is not simulated.
type storage struct {
	sites []string

	mu       sync.Mutex
	volumes  map[string]*volume
	damage   []Damage
	linkCut  bool
	interval time.Duration
	transfer time.Duration
}

type volume struct {
	name     string
	replicas map[string]*replica
	// underway is the newest snapshot that the other site does not have yet.
	underway  *snapshot
	lastTaken time.Time
	// written counts the writes, acknowledged is the newest one that a primary confirmed and that was not reported as lost.
	written      int64
	acknowledged int64
	// linkCut: its snapshots do not move, those of others do.
	linkCut bool
	// transfer overrides the storage's transfer time.
	transfer *time.Duration
}

type replica struct {
	primary bool
	// diverged: it holds writes that the other site never got, and the other site was promoted without them.
	diverged bool
	// log holds the versions that were written, oldest first. It only grows, so snapshots share it.
	log []int64
	// synced is when the newest snapshot was taken that the other site has in full.
	synced time.Time
}

type snapshot struct {
	from  string
	log   []int64
	taken time.Time
	left  time.Duration
}

func newStorage(sites []string, interval, transfer time.Duration) *storage {
	return &storage{sites: sites, volumes: map[string]*volume{}, interval: interval, transfer: transfer}
}

// run moves snapshots until the process ends.
func (s *storage) run() {
	last := time.Now()
	for now := range time.Tick(tick) {
		s.mu.Lock()
		for _, v := range s.volumes {
			s.mirror(v, now, now.Sub(last))
		}
		s.mu.Unlock()
		last = now
	}
}

func (s *storage) mirror(v *volume, now time.Time, passed time.Duration) {
	if s.isCut(v) {
		return
	}
	if v.underway != nil {
		v.underway.left -= passed
		if v.underway.left <= 0 {
			s.arrive(v)
		}
	}
	if v.underway != nil || now.Sub(v.lastTaken) < s.interval {
		return
	}
	for _, site := range s.sites {
		other := s.other(v, site)
		if v.replicas[site].primary && other != nil && !other.primary && !other.diverged {
			s.take(v, site, now)
		}
	}
}

func (s *storage) take(v *volume, site string, now time.Time) {
	left := s.transfer
	if v.transfer != nil {
		left = *v.transfer
	}
	v.underway = &snapshot{from: site, log: slices.Clip(v.replicas[site].log), taken: now, left: left}
	v.lastTaken = now
	if left <= 0 && !s.isCut(v) {
		s.arrive(v)
	}
}

func (s *storage) arrive(v *volume) {
	if other := s.other(v, v.underway.from); other != nil {
		other.log = v.underway.log
	}
	v.replicas[v.underway.from].synced = v.underway.taken
	v.underway = nil
}

func (s *storage) volume(name string) *volume {
	v := s.volumes[name]
	if v == nil {
		v = &volume{name: name, replicas: map[string]*replica{}}
		for _, site := range s.sites {
			v.replicas[site] = &replica{synced: time.Now()}
		}
		s.volumes[name] = v
	}
	return v
}

func (s *storage) isCut(v *volume) bool { return s.linkCut || v.linkCut }

// holds tells whether a site has this version of a volume.
func (s *storage) holds(site, name string, version int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := slices.BinarySearch(s.volume(name).replicas[site].log, version)
	return found
}

// other is the copy at the other site, nil if there is one site only.
func (s *storage) other(v *volume, site string) *replica {
	for _, name := range s.sites {
		if name != site {
			return v.replicas[name]
		}
	}
	return nil
}

// write is what an application does. It is refused where the volume is not primary.
func (s *storage) write(site, name string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volume(name)
	if !v.replicas[site].primary {
		return 0, fmt.Errorf("%s is read-only at %s", name, site)
	}
	v.append(site)
	return v.acknowledged, nil
}

func (v *volume) append(site string) {
	v.written++
	v.acknowledged = v.written
	r := v.replicas[site]
	r.log = append(r.log, v.written)
}

// promotable says why a volume cannot be promoted without force.
func (s *storage) promotable(v *volume, site string) error {
	own, other := v.replicas[site], s.other(v, site)
	switch {
	case own.primary || other == nil:
		return nil
	case other.primary:
		return status.Errorf(codes.FailedPrecondition, "%s is primary at the other site", v.name)
	case own.diverged:
		return status.Errorf(codes.FailedPrecondition, "%s is in split brain", v.name)
	case v.underway != nil && v.underway.from != site:
		return status.Errorf(codes.FailedPrecondition, "the demotion of %s has not arrived yet", v.name)
	}
	return nil
}

func (s *storage) promote(v *volume, site string) {
	own, other := v.replicas[site], s.other(v, site)
	if own.primary {
		return
	}
	own.primary, own.diverged = true, false
	if other == nil {
		return
	}
	if other.primary {
		s.damaged("SplitBrain", v, site, fmt.Sprintf("%s was primary", s.nameOfOther(site)))
		other.diverged = true
	}
	if newest := newestOf(own.log); newest < v.acknowledged {
		s.damaged("TailLost", v, site, fmt.Sprintf("has version %d, %d was acknowledged", newest, v.acknowledged))
		v.acknowledged = newest
		other.diverged = true
	}
	if v.underway != nil && v.underway.from != site {
		v.underway = nil
		other.diverged = true
	}
}

// demote makes the volume read-only and sends what was written last. Stopping an application writes (a file system is unmounted), so that every demotion has a tail.
func (s *storage) demote(v *volume, site string) {
	own, other := v.replicas[site], s.other(v, site)
	if !own.primary {
		return
	}
	v.append(site)
	own.primary = false
	if other != nil && !other.primary && !own.diverged && !other.diverged {
		s.take(v, site, time.Now())
	}
}

// resync reports whether both sites are demoted and hold the same. With force a diverged copy is replaced by the other site's.
func (s *storage) resync(v *volume, site string, force bool) (bool, error) {
	own, other := v.replicas[site], s.other(v, site)
	if own.primary {
		return false, status.Errorf(codes.FailedPrecondition, "%s is primary here", v.name)
	}
	if other == nil {
		return true, nil
	}
	if own.diverged {
		if !force {
			return false, status.Errorf(codes.FailedPrecondition, "%s is in split brain and needs a resync with force", v.name)
		}
		own.diverged = false
		s.take(v, s.nameOfOther(site), time.Now())
		return false, nil
	}
	return !s.isCut(v) && !other.primary && !other.diverged && v.underway == nil, nil
}

func (s *storage) nameOfOther(site string) string {
	for _, name := range s.sites {
		if name != site {
			return name
		}
	}
	return ""
}

func (s *storage) damaged(kind string, v *volume, site, detail string) {
	s.damage = append(s.damage, Damage{Kind: kind, Site: site, Volume: v.name, Detail: detail})
}

func newestOf(log []int64) int64 {
	if len(log) == 0 {
		return 0
	}
	return log[len(log)-1]
}
