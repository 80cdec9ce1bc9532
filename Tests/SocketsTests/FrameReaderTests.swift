import Basics
import TestSupport
import Testing

@testable import Sockets

@Suite struct FrameReaderTests {
    private func frames(of chunks: [[UInt8]]) -> (frames: [[UInt8]], valid: Bool) {
        var reader = FrameReader()
        var result: [[UInt8]] = []
        var valid = true
        for chunk in chunks {
            var chunk = chunk
            chunk.withUnsafeMutableBytes { bytes in
                valid = reader.append(bytes) { result.append(Array($0)) } && valid
            }
        }
        return (result, valid)
    }

    @Test("two frames in one segment are delivered one by one")
    func packed() {
        let (result, valid) = frames(of: [[0, 2, 7, 8, 0, 1, 9]])
        #expect(result == [[7, 8], [9]])
        #expect(valid)
    }

    @Test("a frame that is split at any byte is delivered whole", arguments: 1..<6)
    func split(at cut: Int) {
        let bytes: [UInt8] = [0, 4, 1, 2, 3, 4]
        #expect(frames(of: [Array(bytes[..<cut]), Array(bytes[cut...])]).frames == [[1, 2, 3, 4]])
    }

    @Test("an empty frame is skipped")
    func empty() {
        #expect(frames(of: [[0, 0, 0, 1, 5]]).frames == [[5]])
    }

    @Test(
        "frames come out whole however the stream is cut, and no more than one unfinished frame is kept",
        arguments: seeds(1...8))
    func anyCut(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var sizes: [Int] = []
        var stream: [UInt8] = []
        for index in 0..<200 {
            let size =
                Bool.random(using: &random)
                ? Int.random(in: 0...40, using: &random) : Int.random(in: 0...FrameReader.maxFrame, using: &random)
            stream.append16(UInt16(size))
            stream += [UInt8](repeating: UInt8(index), count: size)
            if size > 0 { sizes.append(size) }
        }
        var chunks: [[UInt8]] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(
                Bool.random(using: &random)
                    ? Int.random(in: 1...5, using: &random) : Int.random(in: 1...16_384, using: &random))
            chunks.append(Array(chunk))
            rest = rest.dropFirst(chunk.count)
        }
        let (result, valid) = frames(of: chunks)
        #expect(valid)
        #expect(result.map(\.count) == sizes)
        #expect(result.allSatisfy { frame in frame.allSatisfy { $0 == frame[0] } })
    }

    @Test("a length above the maximum ends the connection")
    func oversized() {
        #expect(!frames(of: [[0x47, 0x45, 0x54]]).valid)
    }
}
