import Basics
import Testing

@testable import Peer

/// *RTP Payload Format for AV1* (AOMedia, v1.0.0) §4.
@Suite("Payloads of AV1")
struct AV1PayloadTests {
    /// An OBU with its size: the type, and this body.
    private func unit(_ type: UInt8, _ body: [UInt8], hasExtension: Bool = false) -> [UInt8] {
        var size: [UInt8] = []
        var rest = body.count
        repeat {
            size.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return [type << 3 | 2 | (hasExtension ? 4 : 0)] + (hasExtension ? [0x20] : []) + size + body
    }
    private func body(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }
    private func payloads(_ data: [UInt8], isKeyframe: Bool = false, limit: Int = 1100) -> [[UInt8]] {
        let frame = PacketizedVideoFrame(
            EncodedVideoFrame(codec: .av1, data: data, isKeyframe: isKeyframe, timestamp: 5), maxPayload: limit)
        #expect(frame.fragments.map(\.isLast) == frame.fragments.indices.map { $0 == frame.fragments.count - 1 })
        return frame.fragments.map { Array(frame.bytes[$0.range]) }
    }

    /// The OBU elements of the payloads, put together as a receiver does; nil where a flag contradicts another.
    private func reassemble(_ payloads: [[UInt8]]) -> [[UInt8]]? {
        var elements: [[UInt8]] = []
        var isOpen = false
        for payload in payloads {
            let header = payload[0]
            guard (header & 0x80 != 0) == isOpen, header & 7 == 0 else { return nil }
            let count = Int(header >> 4 & 3)
            var at = 1
            var index = 0
            while at < payload.count {
                var size = payload.count - at
                if count == 0 || index < count - 1 {
                    (size, at) =
                        payload[at] & 0x80 == 0
                        ? (Int(payload[at]), at + 1)
                        : (Int(payload[at] & 0x7F) | Int(payload[at + 1]) << 7, at + 2)
                }
                guard at + size <= payload.count, size > 0 else { return nil }
                let part = Array(payload[at..<at + size])
                if index == 0, isOpen { elements[elements.count - 1] += part } else { elements.append(part) }
                (at, index) = (at + size, index + 1)
            }
            guard count == 0 || index == count else { return nil }
            isOpen = header & 0x40 != 0
        }
        return isOpen ? nil : elements
    }

    @Test("a small keyframe is one packet: no delimiter, no sizes, the last element without its length")
    func small() {
        let sequence: [UInt8] = [1, 2, 3]
        let data = unit(2, []) + unit(1, sequence) + unit(6, [9, 8, 7, 6])
        let made = payloads(data, isKeyframe: true)
        #expect(made == [[0x28, 4, 0x08] + sequence + [0x30, 9, 8, 7, 6]])
        #expect(payloads(unit(2, []) + unit(6, [5])) == [[0x10, 0x30, 5]])
    }

    @Test("a large frame is cut into packets of nearly one size, whose elements are those of the frame")
    func large() throws {
        let data = unit(2, []) + unit(1, body(11)) + unit(6, body(5000), hasExtension: true)
        let made = payloads(data, isKeyframe: true)
        #expect(made.count == 5 && made.allSatisfy { $0.count <= 1100 })
        #expect(made.map { $0[0] & 0xC8 } == [0x48, 0xC0, 0xC0, 0xC0, 0x80], "Z, Y and N")
        let sizes = made.map(\.count)
        #expect(
            try #require(sizes.max()) - #require(sizes.min()) < 24 && sizes[..<4].min() ?? 0 >= sizes[4], "\(sizes)")
        #expect(reassemble(made) == [[0x08] + body(11), [0x34, 0x20] + body(5000)])
    }

    @Test("every mixture of sizes is put together as it was, within the limit")
    func mixtures() {
        var random = SeededRandom(seed: 26)
        for _ in 0..<500 {
            let bodies = (0..<Int.random(in: 1...7, using: &random)).map { _ in
                body(Int.random(in: 1...[3, 40, 130, 3000].randomElement(using: &random)!, using: &random))
            }
            let limit = Int.random(in: 16...1100, using: &random)
            let made = payloads(bodies.flatMap { unit(6, $0) }, isKeyframe: true, limit: limit)
            #expect(made.allSatisfy { $0.count <= limit && !$0.isEmpty })
            #expect(reassemble(made) == bodies.map { [0x30] + $0 }, "\(bodies.map(\.count)) limit \(limit)")
        }
    }

    @Test(
        "what is no temporal unit is not sent",
        arguments: [[], [0x80], [0x32, 9, 1], [0x32, 0xFF], [0x12, 0], [0x36]])
    func malformed(data: [UInt8]) { #expect(payloads(data).isEmpty) }
}
