import Basics
import Glibc

extension NodeRecord {
    /// The record of this process: the id and the address of the settings, or the machine's name and first address.
    ///
    /// - Parameter port: the port of the internal listener, where that is known better than by the settings (port 0).
    package init(settings: ClusterSettings, version: String, port: UInt16? = nil) throws(ClusterFault) {
        let id = settings.nodeID
        guard !id.isEmpty else {
            throw ClusterFault(
                key: "cluster.node", value: "", what: "the machine has no name that can be one; set it to another id")
        }
        var advertise = settings.advertise
        if advertise == nil {
            let listen = settings.listen
            let isAny = IPAddress(listen.host)?.isUnspecified ?? false
            guard let host = isAny ? Self.firstAddress : listen.host else {
                throw ClusterFault(
                    key: "cluster.advertise", value: "",
                    what: "the machine has no address beside the loopback; set it to HOST:PORT as other nodes reach it")
            }
            advertise = Endpoint(host: host, port: port ?? listen.port)
        }
        let scheme = settings.tls.certificate.isEmpty ? "http" : "https"
        let incarnation = String(UInt64.random(in: .min ... .max), radix: 36)
        self.init(
            id: id, incarnation: incarnation, url: "\(scheme)://\(advertise.map(String.init(describing:)) ?? "")",
            zone: settings.zone, version: version)
    }

    /// The machine's name up to its first dot, of the characters that ids have.
    fileprivate static var machineName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        let bytes = name.prefix { $0 != 0 && $0 != 46 }.map { UInt8(bitPattern: $0) }
        return String(
            decoding: bytes.filter { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45
            }.prefix(63), as: UTF8.self)
    }

    /// The first IPv4 address of an interface that is up and not the loopback, else the first IPv6 address of more
    /// than the link.
    private static var firstAddress: String? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var sixth: String?
        for interface in sequence(first: list, next: { $0?.pointee.ifa_next }) {
            guard let interface = interface?.pointee else { break }
            guard let address = interface.ifa_addr, interface.ifa_flags & UInt32(IFF_UP) != 0,
                interface.ifa_flags & UInt32(IFF_LOOPBACK) == 0
            else { continue }
            let family = Int32(address.pointee.sa_family)
            guard family == AF_INET || family == AF_INET6 else { continue }
            let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard getnameinfo(address, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if family == AF_INET { return host }
            if !host.hasPrefix("fe80"), sixth == nil { sixth = host }
        }
        return sixth
    }
}

extension ClusterSettings {
    /// The id of this node: `node`, or else the machine's name; empty: the machine has none that can be one.
    package var nodeID: String { node.isEmpty ? NodeRecord.machineName : node }
}
