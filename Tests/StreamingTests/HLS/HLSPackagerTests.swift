import Basics
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Streaming

@Suite struct HLSPackagerTests {
    @Test func `parts lie on a grid of half a second, and segments begin with keyframes`() {
        var feed = HLSFeed()
        feed.run(21, keyframes: [0, 4, 8, 12, 16, 20])
        #expect(feed.window.segments.map(\.seconds) == [4, 4, 4, 4, 4])
        #expect(feed.window.current?.start == HLSFeed.origin + 20 * 90_000)
        for segment in feed.window.segments {
            #expect(segment.parts.count == 8 && segment.parts.allSatisfy { $0.duration == 45_000 })
            #expect(segment.parts.map(\.isIndependent) == [true] + [Bool](repeating: false, count: 7))
            #expect(!segment.isDiscontinuous)
        }
        #expect(feed.window.segments.flatMap(\.parts).map(\.number) == Array(0..<40))
        #expect(!feed.packager.needsKeyframe)
    }

    @Test func `keyframes for those who join end no segment early, and one is requested at the target`() {
        var feed = HLSFeed()
        feed.run(30, keyframes: [0, 2, 4.9, 6.1], answers: true)
        let lengths = feed.window.segments.map(\.seconds)
        #expect(lengths.count >= 6 && lengths.allSatisfy { $0 >= 3 && $0 < 4.5 }, "\(lengths)")
    }

    @Test func `without a keyframe the segment ends before its length rounds above the target`() {
        var feed = HLSFeed()
        feed.run(20, keyframes: [0, 9, 18])
        let segments = feed.window.segments
        #expect(segments.count == 2 && segments.allSatisfy { $0.seconds.rounded() <= 4 }, "\(segments.map(\.seconds))")
        #expect(segments[1].start == HLSFeed.origin + 9 * 90_000 && segments[1].isDiscontinuous)
    }

    @Test(arguments: [1, 5, 10, 60] as [Int64])
    func `the grid is the same at other frame rates`(rate: Int64) {
        var feed = HLSFeed()
        feed.framesPerSecond = rate
        feed.run(14, keyframes: [0, 4, 8, 12])
        #expect(feed.window.segments.map(\.seconds) == [4, 4, 4])
        for part in feed.window.segments.flatMap(\.parts) { #expect(part.duration == 45_000 && !part.bytes.isEmpty) }
    }

    @Test func `other parameter sets begin a segment with a header of its own at once`() {
        var feed = HLSFeed()
        feed.run(1)
        feed.frame(keyframe: HLSFeed.large)
        feed.run(1, keyframes: [])
        #expect(feed.window.segments.map(\.seconds) == [1])
        #expect(feed.window.current?.isDiscontinuous == true)
        #expect(feed.window.headers.count == 2)
        let text = feed.window.playlist(query: "")
        #expect(text.contains("#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"abc-h2.mp4\""), "\(text)")
    }

    @Test func `a pause of the picture is a discontinuity, which begins with a keyframe and the same header`() {
        var feed = HLSFeed()
        feed.run(2.2)
        feed.pass(5)
        feed.frame()
        #expect(feed.packager.needsKeyframe && feed.window.current == nil)
        feed.run(1, keyframes: [0.5])
        let first = feed.window.segments[0]
        #expect(feed.window.segments.count == 1 && abs(first.seconds - 2.2) < 0.001, "\(first.seconds)")
        #expect(feed.window.current.map { $0.isDiscontinuous && $0.header == first.header } == true)
        #expect(feed.window.current?.start == HLSFeed.origin + Int64(7.7 * 90_000) + 3000)
    }

    @Test func `audio from before the first picture is left out, and what waits for a picture is bounded`() throws {
        var feed = HLSFeed()
        for index in 0..<10_000 {
            feed.packager.append(audio: [9], time: HLSFeed.origin * 8 / 15 - 20_000_000 + Int64(index), count: 1024)
        }
        feed.run(1)
        let part = try #require(feed.window.current?.parts.first)
        #expect(!part.bytes.contains(9) || part.bytes.count < 2000)
        #expect(part.bytes.count < 4000)
    }

    @Test func `frames with the time of others, and without parameter sets, trap nothing`() {
        var feed = HLSFeed()
        feed.packager.append([], isKeyframe: true, time: 0)
        feed.packager.append([0, 0, 0, 1, 0x67], isKeyframe: true, time: 1)
        feed.packager.append([0, 0, 0, 1, 0x67, 0, 0, 0, 0, 0, 1, 0x68], isKeyframe: true, time: 1)
        #expect(feed.window.current == nil && feed.packager.needsKeyframe)
        feed.run(1)
        for _ in 0..<10 { feed.packager.append(HLSFeed.small, isKeyframe: true, time: feed.now - 90_000) }
        feed.packager.append(HLSFeed.difference, isKeyframe: false, time: -1)
        feed.packager.interrupt()
        feed.packager.interrupt()
        feed.packager.finish()
        feed.packager.append(HLSFeed.small, isKeyframe: true, time: feed.now)
        #expect(feed.window.isEnded && feed.window.segments.count == 1)
    }

    @Test func `the media decodes, with flash and beep at the same time`() throws {
        var packager: HLSPackager?
        let audio = try HLSAudio()
        packager = HLSPackager(
            HLSWindow(id: "abc", epoch: 0), audioDescription: audio.description,
            audioBitRate: HLSAudio.bitRate.bitsPerSecond)
        let (dark, bright) = (Picture(width: 160, height: 96), Picture(width: 160, height: 96))
        dark.fill(y: 16, u: 128, v: 128)
        bright.fill(y: 235, u: 128, v: 128)
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: 160, height: 96, framesPerSecond: 25, bitRate: .kilobits(200)))
        let origin = Instant(nanoseconds: 86_400_123_456_789)
        for time in stride(from: 0, to: 10_000, by: 20) {
            let instant = origin + .milliseconds(time)
            let isOn = time % 1000 < 100
            try audio.encode(
                sine(1000, count: 960, amplitude: isOn ? 0.6 : 0), time: instant.ticks(at: 48_000)
            ) { packager?.append(audio: $0.data, time: $0.position, count: $0.sampleCount) }
            guard time % 40 == 0 else { continue }
            let frame = try encoder.encode(
                isOn ? bright : dark, timestamp: instant.ticks(at: 90_000), forceKeyframe: time % 4000 == 0)
            if let frame { packager?.append(frame.data, isKeyframe: frame.isKeyframe, time: frame.timestamp) }
        }
        packager?.finish()
        let window = try #require(packager?.window)
        let directory = ScratchDirectory()
        let path = directory.file("a.mp4")
        let media = (window.media(.header(1)) ?? []) + (0..<3).flatMap { window.media(.segment($0)) ?? [] }
        try Data(media.flatMap { $0 }).write(to: URL(fileURLWithPath: path))
        let reader = try MediaFileReader(path: path, decode: true)
        var (flashes, beeps): ([Double], [Double]) = ([], [])
        var (wasBright, quietSince, pictures) = (false, Int64.min / 2, 0)
        while let sample = try reader.next() {
            switch sample {
            case .picture(let picture, let timestamp):
                pictures += 1
                let isBright = picture.y[picture.height / 2 * picture.yStride + picture.width / 2] > 128
                if isBright, !wasBright { flashes.append(Double(timestamp) / 90_000) }
                wasBright = isBright
            case .pcm(let samples, let timestamp):
                for (index, value) in samples.enumerated() where abs(value) > 0.25 {
                    let time = timestamp + Int64(index)
                    if time - quietSince > 4800 { beeps.append(Double(time) / 48_000) }
                    quietSince = time
                }
            default: break
            }
        }
        #expect(pictures == 250)
        #expect(flashes.count == 10 && beeps.count == 10, "\(flashes) \(beeps)")
        for (flash, beep) in zip(flashes, beeps) { #expect(abs(flash - beep) < 0.025, "\(flash) \(beep)") }
    }
}
