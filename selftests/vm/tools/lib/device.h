/* SPDX-License-Identifier: GPL-2.0 */
// Opens the RDMA device under test: found by its netdev (a name may have been changed by
// udev), with the GID to use for the wanted IP family.
#ifndef TERN_VM_DEVICE_H
#define TERN_VM_DEVICE_H

#include <string>

#include <infiniband/verbs.h>

namespace vt {

struct DeviceChoice {
	std::string netdev; // of the GID; may be a VLAN upper of the device's own
	std::string device; // by name, if netdev is empty
	int family = 4;	    // 4 or 6
	int gid_index = -1; // -1: the first GID of the family and type; iWARP has only one
	int roce = 2;	    // version: the GID's type
};

class Device {
public:
	// Throws Failure if there is no such device or GID (waits up to 5 s for the GID).
	explicit Device(const DeviceChoice &choice);
	~Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	ibv_context *context() const { return context_; }
	const char *name() const { return ibv_get_device_name(context_->device); }
	const ibv_device_attr &attr() const { return attr_.orig_attr; }
	const ibv_device_attr_ex &attr_ex() const { return attr_; }
	const ibv_port_attr &port() const { return port_; }
	int gid_index() const { return static_cast<int>(gid_.gid_index); }
	const ibv_gid &gid() const { return gid_.gid; }
	bool is_roce_v1() const { return gid_.gid_type == IBV_GID_TYPE_ROCE_V1; }
	bool is_iwarp() const { return context_->device->transport_type == IBV_TRANSPORT_IWARP; }
	// SEND with immediate data, where supported: iWARP's SEND has none.
	ibv_wr_opcode send_with_imm() const
	{
		return is_iwarp() ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
	}
	bool can(uint32_t device_cap) const
	{
		return attr_.orig_attr.device_cap_flags & device_cap;
	}

private:
	bool find_gid(const DeviceChoice &choice);
	bool is_on(const std::string &netdev) const;

	ibv_context *context_ = nullptr;
	ibv_device_attr_ex attr_ = {};
	ibv_port_attr port_ = {};
	ibv_gid_entry gid_ = {};
};

inline uint32_t mtu_bytes(ibv_mtu mtu)
{
	return 128u << mtu;
}

} // namespace vt

#endif
