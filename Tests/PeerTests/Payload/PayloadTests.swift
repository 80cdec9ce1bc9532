import Basics
import Testing

@testable import Peer

@Suite struct PayloadTests {
    /// x264 baseline, 320×180 (cropped from 192 lines), and its PPS.
    static let sps: [UInt8] = [
        0x67, 0x42, 0xC0, 0x0C, 0xD9, 0x01, 0x41, 0x9F, 0x9E, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10,
    ]
    static let pps: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]

    static func size(_ bytes: [UInt8]) -> (width: Int, height: Int)? { H264NAL.pictureSize(ofSPS: bytes.span) }
    static func descriptor(_ bytes: [UInt8]) -> (descriptor: VP8Descriptor, size: Int)? {
        VP8Descriptor.parse(bytes.span)
    }

    static func annexB(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }
    static func idr(_ count: Int) -> [UInt8] { [0x65, 0x88] + (0..<count).map { UInt8($0 % 251) | 1 } }
    static func payloads(_ frame: PacketizedVideoFrame) -> [[UInt8]] {
        frame.fragments.map { Array(frame.bytes[$0.range]) }
    }

    @Test func `An IDR is sent as STAP-A, twice, and FU-A and is reassembled unchanged, without AUD and filler`() {
        let idr = Self.idr(3000)
        let source = Self.annexB([[9, 0xF0], Self.sps, Self.pps, idr, [12, 0xFF, 0x80]])
        let frame = PacketizedVideoFrame(EncodedVideoFrame(codec: .h264, data: source, isKeyframe: true, timestamp: 5))
        let payloads = Self.payloads(frame)
        #expect(payloads[0][0] == 0x78 && payloads[1] == payloads[0] && payloads.count == 5)
        #expect(payloads[2].prefix(2) == [0x7C, 0x85] && payloads[4].prefix(2) == [0x7C, 0x45])
        #expect(payloads.allSatisfy { $0.count <= 1100 })
        #expect(frame.fragments.map(\.isLast) == [false, false, false, false, true])
        var depacketizer = H264Depacketizer()
        guard case .frame(let result) = depacketizer.assemble(payloads, timestamp: 5) else {
            Issue.record("no frame")
            return
        }
        #expect(result.data == Self.annexB([Self.sps, Self.pps, idr]) && result.isKeyframe)
        // Either of the two packets with the sets is enough.
        var another = H264Depacketizer()
        guard case .frame(let second) = another.assemble(Array(payloads.dropFirst()), timestamp: 5) else {
            Issue.record("no frame")
            return
        }
        #expect(second.data == result.data && second.isKeyframe)
        // An IDR alone gets the remembered sets.
        guard case .frame(let alone) = depacketizer.assemble([[0x65, 0x88, 1]], timestamp: 6) else {
            Issue.record("no frame")
            return
        }
        #expect(alone.data == Self.annexB([Self.sps, Self.pps, [0x65, 0x88, 1]]) && alone.isKeyframe)
        // Without the fragment in the middle, or its start, there is none.
        for broken in [[payloads[3], payloads[4]], [payloads[2]], [[24, 0, 9, 1]], [[]], [[28]]] {
            if case .frame = depacketizer.assemble(broken, timestamp: 7) { Issue.record("garbage") }
        }
    }

    @Test func `Packetization mode 0 sends single units`() {
        let source = Self.annexB([Self.sps, Self.pps, Self.idr(500)])
        let frame = PacketizedVideoFrame(
            EncodedVideoFrame(codec: .h264, data: source, isKeyframe: true, timestamp: 5), packetizationMode: 0)
        #expect(Self.payloads(frame) == [Self.sps, Self.pps, Self.idr(500)] && !frame.hasOversizeFragment)
    }

    @Test func `An SPS gives its cropped size, a broken one none`() throws {
        let size = try #require(Self.size(Self.sps))
        #expect(size.width == 320 && size.height == 180)
        for count in 0..<8 { #expect(Self.size(Array(Self.sps.prefix(count))) == nil) }
        var random = SeededRandom(seed: 3)
        for _ in 0..<5000 {
            let bytes =
                [0x67]
                + (0..<40).map { _ in
                    UInt8.random(in: 0...255, using: &random) & UInt8.random(in: 0...255, using: &random)
                }
            _ = H264NAL.pictureSize(ofSPS: bytes.span)
        }
    }

    @Test func `Chrome's VP8 descriptor is parsed and written`() throws {
        let bytes: [UInt8] = [0x90, 0x80, 0x81, 0x71]
        let (descriptor, size) = try #require(Self.descriptor(bytes))
        #expect(size == 4 && descriptor.pictureID == 0x171 && descriptor.startsFrame)
        var written: [UInt8] = []
        VP8Descriptor(startsPartition: true, pictureID: 0x171).encode(into: &written)
        #expect(written == bytes)
        written = []
        VP8Descriptor(startsPartition: true, pictureID: 1, temporalLevelZeroIndex: 9, temporalLayer: 1, layerSync: true)
            .encode(into: &written)
        #expect(written == [0x90, 0xE0, 0x80, 0x01, 9, 0x60])
        #expect(Self.descriptor([0x90, 0x80, 0x81]) == nil)
    }

    @Test func `VP8 fragments have equal sizes and reassemble to the frame`() {
        let data: [UInt8] = [0x10, 0, 0, 0x9D, 1, 0x2A, 0x40, 0x01, 0xB4, 0x00] + [UInt8](repeating: 7, count: 1200)
        let frame = PacketizedVideoFrame(EncodedVideoFrame(codec: .vp8, data: data, isKeyframe: true, timestamp: 5))
        #expect(frame.fragments.map(\.range.count) == [605, 605])
        var depacketizer = VP8Depacketizer()
        let payloads = Self.payloads(frame).enumerated().map { [$0.offset == 0 ? 0x10 : 0] + $0.element }
        guard case .frame(let result) = depacketizer.assemble(payloads, timestamp: 5) else {
            Issue.record("no frame")
            return
        }
        #expect(result.data == data && result.isKeyframe && result.width == 320 && result.height == 180)
    }

    /// The kernel cuts one write into packets of one size, the last of them perhaps shorter.
    @Test(arguments: [1101, 2201, 3303, 6250, 7699, 40_000])
    func `The packets of a frame have one size except for the last`(size: Int) {
        let vp8 = PacketizedVideoFrame(
            EncodedVideoFrame(codec: .vp8, data: [UInt8](repeating: 0x11, count: size), isKeyframe: false, timestamp: 5)
        )
        let unit: [UInt8] = [0, 0, 0, 1, 0x41] + [UInt8](repeating: 7, count: size)
        let h264 = PacketizedVideoFrame(EncodedVideoFrame(codec: .h264, data: unit, isKeyframe: false, timestamp: 5))
        for (frame, overhead) in [(vp8, 0), (h264, 2)] {
            let sizes = frame.fragments.map(\.range.count)
            #expect(Set(sizes.dropLast()).count == 1)
            #expect(sizes.last ?? 0 <= sizes[0] && sizes.last ?? 0 > sizes[0] - sizes.count)
            #expect(sizes.reduce(0) { $0 + $1 - overhead } == size)
            #expect(sizes.count == (size + 1099 - overhead) / (1100 - overhead))
        }
    }

    @Test(
        arguments: [
            ([0x78, 1, 2], 960, false), ([0xFC, 1, 2], 960, true), ([0x18, 0], 2880, false),
            ([0x83, 0x02, 1], 240, false),
            ([0x7B, 0x06, 1], 5760, false),
        ] as [([UInt8], Int, Bool)])
    func `The duration of an Opus packet is read from its first bytes`(payload: [UInt8], samples: Int, stereo: Bool) {
        let packet = OpusPacket(payload)
        #expect(packet?.samples == samples && packet?.isStereo == stereo)
    }

    @Test(
        arguments: [
            ([0x78, 0xC0, 2], true), ([0x78, 0x80, 2], false), ([0x50, 0x40, 2], false), ([0x50, 0x20, 2], true),
            ([0x58, 0x10, 2], true),
            ([0x4C, 0x10, 2], true), ([0x4C, 0x20, 2], false), ([0x4A, 200, 0x40, 2], true),
            ([0x4A, 252, 1, 0x40, 2], true),
            ([0x4A, 252, 1, 0x80, 2], false), ([0xF8, 0xFF, 2], false), ([0x48], false), ([0x4A, 252], false),
        ] as [([UInt8], Bool)])
    func `Opus FEC is detected from the packet's first bits`(payload: [UInt8], carries: Bool) {
        #expect(OpusPacket(payload)?.carriesFEC == carries)
    }

    @Test func `Opus packets that are empty or too long are refused`() {
        #expect(OpusPacket([UInt8]()) == nil && OpusPacket([0x7B, 0x07]) == nil && OpusPacket([0x7B]) == nil)
    }
}
