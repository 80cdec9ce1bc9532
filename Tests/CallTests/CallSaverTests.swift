import Basics
import Codecs
import Foundation
import Peer
import TestSupport
import Testing

@testable import Call

@Suite("A saved call") struct CallSaverTests {
    /// A second each of three sizes, as on a link whose rate changes, with a tone.
    private func save(_ codec: VideoCodec, to file: String) async throws -> String {
        let saver = try CallSaver(file: file)
        let opus = try OpusEncoder(bitRate: .kilobits(32))
        for (second, (width, height)) in [(160, 96), (320, 192), (160, 96)].enumerated() {
            let encoder = try makeVideoEncoder(
                VideoEncoderConfiguration(
                    codec: codec, width: width, height: height, framesPerSecond: 25, bitRate: .kilobits(300)))
            let picture = Picture(width: width, height: height)
            for tick in 0..<50 {
                let sequence = second * 50 + tick
                let now = Instant(nanoseconds: 5_000_000_000 + Int64(sequence) * 20_000_000)
                if tick % 2 == 0 {
                    picture.fill(y: UInt8(40 + tick * 3), u: 128, v: 128)
                    guard
                        var coded = try encoder.encode(picture, timestamp: now.ticks(at: 90_000), forceKeyframe: false)
                    else { continue }
                    (coded.width, coded.height) = coded.isKeyframe ? (width, height) : (0, 0)
                    saver.append(ReceivedVideoFrame(frame: coded, captureTime: now, arrival: now))
                }
                let audio = sine(440, from: sequence * 960, count: 960, amplitude: 0.3)
                saver.append(
                    ReceivedAudioPacket(
                        payload: try opus.encode(audio), sequence: Int64(sequence), timestamp: Int64(sequence * 960),
                        captureTime: now,
                        arrival: now))
            }
        }
        return try await saver.finish()
    }

    @Test("A call with changing picture sizes is saved to one file", arguments: [VideoCodec.h264, .vp8])
    func sizes(codec: VideoCodec) async throws {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let file = directory.file("out.mp4")
        let said = try await save(codec, to: file)
        #expect(said.hasPrefix(file))
        #expect(directory.files == ["out.mp4"])
        let reader = try MediaFileReader(path: file, decode: true)
        var sizes: [[Int]] = []
        var pictures: [Int64] = []
        var samples = 0
        while let sample = try reader.next() {
            switch sample {
            case .picture(let picture, let timestamp):
                pictures.append(timestamp)
                if sizes.last != [picture.width, picture.height] { sizes.append([picture.width, picture.height]) }
            case .pcm(let audio, _): samples += audio.count
            default: break
            }
        }
        #expect(sizes == [[160, 96], [320, 192], [160, 96]])
        #expect(pictures.count == 75)
        #expect(zip(pictures.dropFirst(), pictures).allSatisfy { abs($0 - $1 - 3600) <= 1 })
        #expect(abs(samples - 3 * 48_000) < 4800)
    }
}
