/// The cost of processing an RTCP packet, for the budget: one datagram may hold fifty feedback packets that each cover
/// 65 000 packets, or request five thousand retransmissions.
extension RTCPPacket {
    /// The cost of any packet, in steps.
    static let leastWork = 10
    /// A limit is compared with every other one that binds.
    static let workOfLimit = TemporaryLimits.most

    /// About how many steps the packet causes: sequence numbers covered, retransmissions requested, blocks, sources. A
    /// step takes about 10 ns.
    var work: Int { Self.leastWork + content }

    private var content: Int {
        switch self {
        case .senderReport(let packet): packet.reports.count
        case .receiverReport(let packet): packet.reports.count
        case .sourceDescription(let packet): packet.chunks.reduce(packet.chunks.count) { $0 + $1.items.count }
        case .goodbye(let packet): packet.ssrcs.count
        case .nack(let packet): packet.entries.reduce(packet.entries.count) { $0 + $1.mask.nonzeroBitCount }
        case .pictureLoss, .unknown: 0
        case .fullIntraRequest(let packet): packet.entries.count
        case .maxBitrate(let packet): packet.ssrcs.count
        case .temporaryLimit(let packet), .temporaryLimitNotification(let packet):
            packet.limits.count + Self.workOfLimit
        case .transportFeedback(let packet): Int(packet.statusCount)
        case .extendedReport(let packet): packet.blocks.count
        }
    }
}
