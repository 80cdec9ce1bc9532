/// What addresses hold of a `FairShare`, as a tree: everything, the sites (an IPv4 address or an IPv6 /48), and the /56
/// and /64 of an IPv6 site.
struct PrefixShares<Holder: Hashable & Sendable>: Sendable {
    private struct Node {
        var held = 0
        var idle = 0
        var lapsed = 0
        /// The step at which the first of the present idle holders became idle.
        var idleSince: UInt64 = 0
        /// The prefixes within this one that have idle holders.
        var parts: Set<IPNetwork> = []
        /// The idle holders of an address itself, and the steps at which they became idle.
        var idleHolders: [Holder: UInt64] = [:]

        /// What counts as held.
        var burden: Int { held + lapsed }
    }

    private var nodes: [IPNetwork: Node] = [:]
    /// Counts the changes: the smaller, the longer ago.
    private var step: UInt64 = 0

    var idleCount: Int { nodes[.everything]?.idle ?? 0 }

    /// The places of the path's address.
    func held(by path: [IPNetwork]) -> Int { path.last.flatMap { nodes[$0]?.held } ?? 0 }
    /// Whether the path's whole site holds nothing, and has wasted nothing of late.
    func hasNothing(_ path: [IPNetwork]) -> Bool { nodes[path[1]] == nil }

    mutating func add(_ path: [IPNetwork]) {
        for prefix in path { nodes[prefix, default: Node()].held += 1 }
    }

    mutating func remove(_ path: [IPNetwork]) {
        for prefix in path { change(prefix) { $0.held -= 1 } }
    }

    mutating func lapse(_ path: [IPNetwork]) {
        for prefix in path { nodes[prefix, default: Node()].lapsed += 1 }
    }

    mutating func forgetLapse(_ path: [IPNetwork]) {
        for prefix in path { change(prefix) { $0.lapsed -= 1 } }
    }

    mutating func rest(_ path: [IPNetwork], _ holder: Holder) {
        step += 1
        for (index, prefix) in path.enumerated() {
            if nodes[prefix]?.idle == 0 {
                nodes[prefix]?.idleSince = step
                if index > 0 { nodes[path[index - 1]]?.parts.insert(prefix) }
            }
            nodes[prefix]?.idle += 1
        }
        nodes[path[path.count - 1]]?.idleHolders[holder] = step
    }

    mutating func use(_ path: [IPNetwork], _ holder: Holder) {
        for (index, prefix) in path.enumerated() {
            nodes[prefix]?.idle -= 1
            if index > 0, nodes[prefix]?.idle == 0 { nodes[path[index - 1]]?.parts.remove(prefix) }
        }
        nodes[path[path.count - 1]]?.idleHolders[holder] = nil
    }

    /// The oldest idle holder of the path's address.
    func oldestIdle(of path: [IPNetwork]) -> Holder? {
        path.last.flatMap { nodes[$0]?.idleHolders.min { $0.value < $1.value }?.key }
    }

    /// The holder that a newcomer of the path displaces.
    ///
    /// - Parameters:
    ///   - isBound: whether only addresses that have more than the newcomer's would have lose one.
    ///   - replacesOwn: whether the newcomer's own address may lose one.
    func victim(for path: [IPNetwork], isBound: Bool, replacesOwn: Bool) -> Holder? {
        victim(in: .everything, path.dropFirst(), sparing: replacesOwn ? nil : path.last, isBound)
    }

    /// - Parameter own: the rest of the newcomer's path below `prefix`; empty within a prefix that is not its own.
    private func victim(
        in prefix: IPNetwork, _ own: ArraySlice<IPNetwork>, sparing spared: IPNetwork?, _ isBound: Bool
    ) -> Holder? {
        guard let node = nodes[prefix] else { return nil }
        if node.parts.isEmpty { return node.idleHolders.min { $0.value < $1.value }?.key }
        let most = own.first.map { (nodes[$0]?.burden ?? 0) + 1 } ?? 0
        var best: IPNetwork?
        var others: IPNetwork?
        for part in node.parts where part != spared {
            guard !isBound || part == own.first || (nodes[part]?.burden ?? 0) > most else { continue }
            if best.map({ isBefore(part, $0) }) ?? true { best = part }
            if part != own.first, others.map({ isBefore(part, $0) }) ?? true { others = part }
        }
        guard let best else { return nil }
        if best == own.first, let holder = victim(in: best, own.dropFirst(), sparing: spared, isBound) { return holder }
        return others.flatMap { victim(in: $0, [], sparing: spared, isBound) }
    }

    /// Whether `first` loses a holder before `second`. What is idle counts first: a large address whose holders are all
    /// in use but for one that has just come is no better victim than a small one with many idle ones.
    private func isBefore(_ first: IPNetwork, _ second: IPNetwork) -> Bool {
        guard let first = nodes[first], let second = nodes[second] else { return false }
        return (first.idle + first.lapsed, first.held, second.idleSince)
            > (second.idle + second.lapsed, second.held, first.idleSince)
    }

    private mutating func change(_ prefix: IPNetwork, _ body: (inout Node) -> Void) {
        guard var node = nodes.removeValue(forKey: prefix) else { return }
        body(&node)
        if node.burden > 0 { nodes[prefix] = node }
    }
}

extension IPNetwork {
    /// The root of the tree.
    fileprivate static let everything = IPNetwork(.v6(0, 0), prefixLength: 0)
    /// Stands for all whose address is not known.
    fileprivate static let unknown = IPNetwork(.v4(0), prefixLength: 0)
}

extension IPAddress {
    /// The prefixes by which a client counts, the widest first: an IPv4 address alone; of IPv6 the /48, /56 and /64,
    /// which providers give to one site (RFC 6177 §2). An IPv4-mapped address is the IPv4 address that it carries.
    public var sharePrefixes: [IPNetwork] {
        switch unmapped {
        case .v4(let value): [IPNetwork(.v4(value), prefixLength: 32)]
        case .v6(let high, _): [48, 56, 64].map { IPNetwork(.v6(high, 0), prefixLength: $0) }
        }
    }

    /// The way from everything to the address.
    static func sharePath(_ address: IPAddress?) -> [IPNetwork] {
        [.everything] + (address?.sharePrefixes ?? [.unknown])
    }
}
