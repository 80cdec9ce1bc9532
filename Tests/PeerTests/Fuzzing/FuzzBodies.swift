import Basics

@testable import Peer

/// Puts hostile bytes in where they are believed.
enum FuzzBodies {
    /// A chunk list in a packet that the association believes to be its peer's.
    static func sctp(_ chunks: [UInt8], into association: SCTPAssociation, at now: Instant) {
        var packet = [UInt8]()
        packet.append16(association.configuration.remotePort)
        packet.append16(association.configuration.localPort)
        packet.append32(association.localTag)
        packet.append32(0)
        packet += chunks
        let sum = CRC32C.checksum(packet)
        for index in 0..<4 { packet[8 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
        association.receive(packet, at: now)
        association.advance(to: now)
        _ = association.nextDeadline
    }

    /// Decrypted packets of an authentic but hostile peer.
    static func plain(_ bytes: [UInt8], into peer: PeerConnection, at now: Instant, keepingEvents: Bool = false) {
        bytes.withUnsafeBytes { raw in
            switch DatagramKind(raw) {
            case .rtcp: peer.receiveReports(raw, at: now)
            default: peer.receiveMedia(raw, at: now)
            }
        }
        peer.drain(at: now)
        peer.advance(to: now)
        guard !keepingEvents else { return }
        while peer.nextEvent() != nil {}
        peer.flush { _, _ in }
        _ = peer.statistics(at: now)
    }
}
