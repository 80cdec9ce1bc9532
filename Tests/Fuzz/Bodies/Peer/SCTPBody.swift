import Basics
import Fuzzing

@testable import Peer

/// An established association, and a peer that knows all its numbers.
enum SCTPBody {
    static let target = FuzzTarget(
        "sctp", covers: "an established SCTP association: chunks, reassembly, acknowledgements, resets",
        limits: WorkLimits(perByte: .nanoseconds(200), memory: 6 << 20),
        maximumLength: 8192, seededRounds: 400, seeds: { seeds }, body: run)

    /// The most work that one input may cause.
    private static let mostBytes = 512 << 10
    /// The most work of one operation, so that others can follow.
    private static let mostBurst = 384 << 10

    private static let mostOperations = 200

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        let association = SCTPAssociation(SCTPConfiguration(), tag: 5, tsn: 99)
        var now = Instant.zero
        // The state cookie of an INIT with tag 9, a window of 64 KiB and the first TSN 100.
        deliver(encoded(.cookieEcho([0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 100, 1])), to: association, at: now)
        guard association.state == .established else { fatalError("sctp: no association") }
        var script = SCTPScript(next: 100, seen: 98)
        work.start()
        for _ in 0..<mostOperations where !input.isEmpty && work.bytes < mostBytes {
            switch input.below(8) {
            case 0: now += .milliseconds(Int64(input.byte()) * 4)
            case 1:
                let shape = input.byte()
                var reliability = SCTPReliability(unordered: shape & 1 != 0)
                if shape & 2 != 0 { reliability.retransmissions = Int(shape >> 6) }
                if shape & 4 != 0 { reliability.lifetime = .milliseconds(Int64(shape)) }
                let size = shape & 8 == 0 ? 1 : Int(input.number16())
                for _ in 0..<input.repetitions(upTo: 1024) where work.bytes < mostBytes {
                    work.step(bytes: size + 1)
                    _ = association.send(
                        [UInt8](repeating: 1, count: size + 1), ppid: 51, stream: UInt16(shape >> 4), reliability,
                        at: now)
                }
            case 2: association.reset(UInt16(input.byte() & 7), at: now)
            default:
                for packet in script.packets(&input, most: min(mostBurst, mostBytes - work.bytes)) {
                    work.step(bytes: packet.count + 12)
                    deliver(packet, to: association, at: now)
                }
            }
            work.step()
            association.advance(to: now)
            _ = association.nextDeadline
            for packet in association.takePackets() {
                work.step(bytes: packet.count)
                if packet.count > association.configuration.packetSize + 64 {
                    fatalError("sctp: a packet of \(packet.count) bytes")
                }
                if let parsed = SCTPPacket(parsing: packet) { script.note(parsed) }
            }
            _ = association.takeEvents()
            check(association)
        }
        work.weigh()
    }

    /// The memory limit that the window promises; in addition, chunks that fill the first gap are accepted, of two
    /// messages at most.
    private static func check(_ association: SCTPAssociation) {
        guard association.state != .closed else { return }
        let most = association.configuration.receiveWindow + 2 * association.configuration.maximumMessage
        if association.held < 0 || association.held > most {
            fatalError(
                "sctp: \(association.held) bytes are held with a window of \(association.configuration.receiveWindow)")
        }
        if association.buffered < 0 || association.buffered > association.configuration.sendBuffer {
            fatalError("sctp: \(association.buffered) bytes wait")
        }
    }

    private static func deliver(_ chunks: [UInt8], to association: SCTPAssociation, at now: Instant) {
        association.receive(
            packet(
                chunks, source: association.configuration.remotePort, destination: association.configuration.localPort,
                tag: association.localTag),
            at: now)
    }

    /// A list of chunks with a valid header and checksum.
    static func packet(_ chunks: [UInt8], source: UInt16, destination: UInt16, tag: UInt32) -> [UInt8] {
        var packet: [UInt8] = []
        packet.append16(source)
        packet.append16(destination)
        packet.append32(tag)
        packet.append32(0)
        packet += chunks
        let sum = CRC32C.checksum(packet)
        for index in 0..<4 { packet[8 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
        return packet
    }

    private static func encoded(_ chunk: SCTPChunk) -> [UInt8] {
        var bytes: [UInt8] = []
        chunk.encode(into: &bytes)
        return bytes
    }

    private static var seeds: [[UInt8]] {
        let chunks: [SCTPChunk] = [
            .sack(SCTPSack(cumulative: 98, window: 0, gaps: [1...2, 65_535...65_535], duplicates: [4])),
            .heartbeat([0, 1, 0, 8, 1, 2, 3, 4]),
            .data(
                SCTPData(
                    tsn: 100, stream: 1, ssn: 0, ppid: 50, unordered: false, begins: true, ends: true,
                    payload: [3, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 65])),
            .data(
                SCTPData(
                    tsn: 102, stream: 1, ssn: 1, ppid: 51, unordered: true, begins: true, ends: false, payload: [65])),
            .forwardTSN(104, [SCTPSkip(stream: 1, ssn: 2)]), .cookieEcho([UInt8](repeating: 0, count: 13)),
            .reconfig([
                .resetOutgoing(request: 100, response: 9, lastTSN: 100, streams: [1]),
                .resetIncoming(request: 101, streams: [3]),
                .other(request: 102),
            ]),
        ]
        var raw = FuzzScript()
        for chunk in chunks {
            raw.raw([3, 10])
            raw.chunk(encoded(chunk))
        }
        // Messages of both ends, an acknowledgement, a burst, time.
        let play: [UInt8] = [
            1, 0, 3, 3, 0, 0x03, 1, 2, 65, 66, 3, 5, 0, 0, 0, 50, 3, 2, 3, 8, 1, 3, 5, 4, 1, 1, 1, 2, 0, 200, 1, 8, 4,
            0, 2, 2, 3, 3, 7, 0, 0, 1, 1,
            3, 6, 0, 4, 1, 1, 1,
        ]
        return [raw.bytes, play]
    }
}
