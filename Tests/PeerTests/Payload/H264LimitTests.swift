import Basics
import TestSupport
import Testing

@testable import Peer

/// The contents and the cost of an access unit are bounded.
@Suite("Limits of H.264 access units") struct H264LimitTests {
    private static let slice: [UInt8] = [0x41, 0x9A, 1, 2, 3]

    private static func pps(_ number: Int, size: Int = 4) -> [UInt8] {
        // pic_parameter_set_id 0 in one bit, then what makes it another.
        [0x68, 0x80 | UInt8(number >> 14 & 0x3F), UInt8(number >> 7 & 0x7F) | 0x80, UInt8(number & 0x7F) | 0x80]
            + [UInt8](repeating: 1, count: size - 4)
    }

    private static func aggregate(_ units: [[UInt8]]) -> [UInt8] {
        units.reduce([24]) { $0 + [UInt8($1.count >> 8), UInt8($1.count & 255)] + $1 }
    }

    /// The attack: aggregates of distinct parameter sets, 191 in a packet, and one slice at the end.
    static func parameterSets(packets: Int) -> [[UInt8]] {
        (0..<packets).map { packet in aggregate((0..<191).map { pps(packet * 191 + $0) }) } + [slice]
    }

    private static func isOversized(_ result: AssemblyResult) -> Bool {
        if case .oversized = result { true } else { false }
    }
    private static func data(_ result: AssemblyResult) -> [UInt8]? {
        if case .frame(let frame) = result { frame.data } else { nil }
    }

    @Test("Hundreds of thousands of parameter sets are refused at once")
    func parameterSets() {
        let payloads = Self.parameterSets(packets: 1000)
        var depacketizer = H264Depacketizer()
        let cost = processorTime { #expect(Self.isOversized(depacketizer.assemble(payloads, timestamp: 0))) }
        #expect(cost < .seconds(1))
    }

    @Test("As many slices as packets of a large keyframe are accepted, more are refused")
    func slices() {
        var depacketizer = H264Depacketizer()
        let many = [[UInt8]](repeating: Self.slice, count: H264Depacketizer.maximumUnits)
        #expect(Self.data(depacketizer.assemble(many, timestamp: 0))?.count == 1024 * 9)
        #expect(Self.isOversized(depacketizer.assemble(many + [Self.slice], timestamp: 0)))
        #expect(Self.isOversized(depacketizer.assemble([Self.aggregate(many + [Self.slice])], timestamp: 0)))
    }

    @Test("Units that are no slices are counted separately, stripped ones too", arguments: [6, 9, 12, 7, 8] as [UInt8])
    func others(type: UInt8) {
        var depacketizer = H264Depacketizer()
        let unit: [UInt8] = [0x60 | type, 0x42, 0xC0, 0x0C, 0xD9]
        let most = [[UInt8]](repeating: unit, count: H264Depacketizer.maximumOtherUnits)
        #expect(Self.data(depacketizer.assemble(most + [Self.slice], timestamp: 0)) != nil)
        #expect(Self.isOversized(depacketizer.assemble(most + [unit, Self.slice], timestamp: 0)))
    }

    @Test("A set that changes and changes back in one access unit ends in its last form")
    func changes() {
        var depacketizer = H264Depacketizer()
        let (first, second) = (Self.pps(1), Self.pps(2))
        let units = [first, first, second, second, first]
        let expected = PayloadTests.annexB([first, second, first, Self.slice])
        #expect(Self.data(depacketizer.assemble(units + [Self.slice], timestamp: 0)) == expected)
        #expect(Self.data(depacketizer.assemble([Self.aggregate(units), Self.slice], timestamp: 0)) == expected)
    }

    @Test("Fragmented sets are remembered, and repeated ones are stored once")
    func fragmented() {
        var depacketizer = H264Depacketizer()
        let (sps, pps) = (PayloadTests.sps, PayloadTests.pps)
        let halves = [[0x7C, 0x87] + sps[1..<8], [0x7C, 0x47] + sps[8...]].map { Array($0) }
        let idr: [UInt8] = [0x65, 0x88, 1]
        let whole = PayloadTests.annexB([sps, pps, idr])
        #expect(Self.data(depacketizer.assemble(halves + halves + [pps, idr], timestamp: 0)) == whole)
        #expect(Self.data(depacketizer.assemble([idr], timestamp: 1)) == whole)
        // One kind without the other.
        #expect(Self.data(depacketizer.assemble([sps, [9, 0xF0], idr], timestamp: 2)) == whole)
        #expect(Self.data(depacketizer.assemble([pps, idr], timestamp: 3)) == whole)
    }

    @Test("The sets put before an IDR are bounded, however many came")
    func remembered() throws {
        var depacketizer = H264Depacketizer()
        for id in 0..<40 as Range<UInt16> {
            // pic_parameter_set_id as ue(v): as many zeros as id + 1 has bits behind its first.
            let bits = 16 - (id + 1 as UInt16).leadingZeroBitCount
            let code = (id + 1) << UInt16(17 - 2 * bits)
            var set: [UInt8] = [0x68, UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
            set += [UInt8](repeating: UInt8(id + 1), count: 1000)
            _ = depacketizer.assemble([set], timestamp: 0)
        }
        _ = depacketizer.assemble([PayloadTests.sps], timestamp: 0)
        let frame = try #require(Self.data(depacketizer.assemble([[0x65, 0x88, 1]], timestamp: 1)))
        #expect(frame.count <= 32 * 1028 + 100)
    }
}
