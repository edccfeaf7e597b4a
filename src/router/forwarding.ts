/** A router forwards, and learns neighbors from what they say of themselves. */
export const FORWARDING: Readonly<Record<string, string>> = {
  "net/ipv4/conf/all/forwarding": "1",
  "net/ipv6/conf/all/forwarding": "1",
  "net/ipv4/conf/all/arp_accept": "1",
  "net/ipv4/conf/default/arp_accept": "1",
  "net/ipv6/conf/all/accept_untracked_na": "1",
  "net/ipv6/conf/default/accept_untracked_na": "1",
};
