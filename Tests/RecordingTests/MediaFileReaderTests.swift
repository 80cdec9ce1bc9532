import Basics
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Recording

/// The reader of `Codecs`, tested here because `Recording` writes the files.
@Suite(.serialized) struct MediaFileReaderTests {
    @Test("A recording's packets are read ready to send, also after a rewind", arguments: RecordingAudio.allCases)
    func passthrough(audio: RecordingAudio) async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25, audio: audio,
            onFailure: { Issue.record("\($0)") })
        try FlashAndBeep().feed(recorder, 0..<3000)
        _ = try await recorder.finish()
        let reader = try MediaFileReader(path: file)
        #expect(reader.videoPassthrough == .h264 && reader.passesOpus == (audio == .opus))
        #expect(abs(reader.framesPerSecond - 25) < 0.5 && abs((reader.duration ?? .zero).inSeconds - 3) < 0.1)
        for _ in 0..<2 {
            let decoder = try VideoDecoder(codec: .h264)
            var times: [Int64] = []
            var pictures = 0
            var audioSamples = 0
            while let sample = try reader.next() {
                switch sample {
                case .video(let frame):
                    times.append(frame.timestamp)
                    if frame.isKeyframe { #expect(!AnnexB.parameterSets(frame.data).isEmpty) }
                    if try decoder.decode(frame) != nil { pictures += 1 }
                case .opus(let packet, _): audioSamples += OpusDecoder.sampleCount(of: packet) ?? 0
                case .pcm(let samples, _): audioSamples += samples.count
                case .picture: Issue.record("decoded though it could pass")
                }
            }
            #expect(times.count == 75 && pictures == 75)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 3600 })
            #expect(abs(audioSamples - 144_000) < 3000, "\(audioSamples)")
            try reader.rewind()
        }
    }

    @Test("A picture file is a video of one picture")
    func png() throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.png")
        let picture = Picture(width: 64, height: 48)
        picture.fill(y: 145, u: 54, v: 34)
        try picture.writePNG(path: file)
        let reader = try MediaFileReader(path: file)
        guard case .picture(let read, _) = try reader.next() else {
            Issue.record("no picture")
            return
        }
        #expect(read.width == 64 && abs(Int(read.y[100]) - 145) <= 2 && !reader.hasAudio)
        #expect(try Picture.load(path: file).height == 48)
    }

    @Test("A file without media is an error with its name", arguments: ["", "no media at all, only text\n"])
    func nonsense(text: String) throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.bin")
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        #expect(throws: (any Error).self) {
            while try MediaFileReader(path: file).next() != nil { throw CodecError.corruptFrame }
        }
        #expect(throws: CodecError.self) { try MediaFileReader(path: directory.file("missing.mp4")) }
        #expect(throws: RecordingError.self) { try RecordingRepair.check(file: file) }
        #expect(throws: RecordingError.self) { try RecordingRepair.repair(file: file, output: file + ".mp4") }
        #expect(!FileManager.default.fileExists(atPath: file + ".mp4"))
    }

    @Test("Damaged recordings are repaired up to the damage or refused, and nothing traps")
    func mutation() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let recorder = try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            onFailure: { Issue.record("\($0)") })
        try FlashAndBeep().feed(recorder, 0..<2500)
        _ = await recorder.duration()
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        var random = SeededRandom(seed: 11)
        var mended = 0
        for _ in 0..<60 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let orphan = directory.file("b.mp4")
            try Data(damaged).write(to: URL(fileURLWithPath: orphan))
            if (try? RecordingRepair.repair(file: orphan, output: orphan)) != nil { mended += 1 }
            _ = try? RecordingRepair.check(file: orphan)
        }
        #expect(mended > 20)
        _ = try await recorder.finish()
    }
}
