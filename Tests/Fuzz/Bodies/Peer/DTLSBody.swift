import Basics
import Fuzzing

@testable import Peer

/// A handshake between two real ends over a link that a script controls: it loses, repeats, damages, delays and forges
/// datagrams.
enum DTLSBody {
    static let target = FuzzTarget(
        "dtls", covers: "the DTLS transport: handshakes over a wire that lies",
        limits: WorkLimits(base: .milliseconds(10), perStep: .microseconds(200)), maximumLength: 4096,
        seeds: { seeds }, body: run)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        guard let ours = try? Identities.ours.get(), let theirs = try? Identities.theirs.get(),
            let server = try? DTLSTransport(role: .server, identity: ours, at: .zero),
            let client = try? DTLSTransport(role: .client, identity: theirs, at: .zero)
        else { return }
        work.start()
        server.setRemoteFingerprints([theirs.fingerprint])
        client.setRemoteFingerprints([ours.fingerprint])
        var now = Instant.zero
        client.start(at: now)
        server.start(at: now)
        var wire: [[UInt8]] = []
        while !input.isEmpty {
            while let bytes = client.nextTransmit(), wire.count < 64 { wire.append(bytes) }
            let operation = input.byte()
            switch operation & 7 {
            case 0: now += .milliseconds(Int64(input.byte()) * 4)
            case 1, 2, 3:
                // The oldest datagram is delivered unchanged.
                if !wire.isEmpty { receive(wire.removeFirst(), server, at: now, &work) }
            case 4:
                if !wire.isEmpty { wire.append(wire[Int(operation >> 3) % wire.count]) }
            case 5:
                if !wire.isEmpty { wire.remove(at: Int(operation >> 3) % wire.count) }
            case 6:
                guard !wire.isEmpty else { break }
                var bytes = wire[Int(operation >> 5) % wire.count]
                for _ in 0...Int(operation >> 3 & 3) {
                    let place = Int(input.number16()) % bytes.count
                    bytes[place] = input.byte()
                }
                receive(bytes, server, at: now, &work)
            default:
                if operation & 8 == 0 {
                    receive(input.chunk(), server, at: now, &work)
                } else {
                    _ = client.send(input.chunk())
                }
            }
            work.step()
            server.advance(to: now)
            client.advance(to: now)
            while let bytes = server.nextTransmit() {
                work.step(bytes: bytes.count)
                bytes.withUnsafeBytes { client.receive($0, at: now) }
            }
            while server.nextEvent() != nil {}
            while client.nextEvent() != nil {}
            _ = server.nextDeadline
        }
        work.weigh()
    }

    private static func receive(_ bytes: [UInt8], _ server: DTLSTransport, at now: Instant, _ work: inout Work) {
        work.step(bytes: bytes.count)
        bytes.withUnsafeBytes { server.receive($0, at: now) }
    }

    private static var seeds: [[UInt8]] {
        // A handshake without faults, then application data; and each flight alone with a damaged record header.
        let good = [UInt8](repeating: 1, count: 24) + [15, 3, 1, 2, 3, 1, 1]
        return [
            good, [6, 0, 13, 1] + good, [1, 1, 6 | 8, 0, 0, 22, 0, 11, 254] + good,
            [4, 1, 1, 0, 50, 1, 4, 1, 1] + good,
            [7, 13, 22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + good,
        ]
    }
}
