import ArgumentParser
import Basics
import Codecs
import Foundation
import Threads

/// `bench codecs`: what each encoder of the server makes of a film at a rate, against the film.
struct CodecsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "codecs", abstract: "What a kilobit buys: the likeness of a film in each codec, at the same rate.",
        discussion: """
            A film is a file in YUV4MPEG2, 4:2:0, as `ffmpeg -i FILM -pix_fmt yuv420p FILM.y4m` writes it; without one it \
            is ten seconds of a moving head at 1280×720. Pictures are scaled to each height, encoded, decoded and scaled \
            back.
            """)

    @Argument(help: "The film.") var film: String?
    @Option(help: "Rates in kbit/s, comma-separated.") var rates = "75,110"
    @Option(help: "Heights in lines, comma-separated.") var heights = "180,360"
    @Option(help: "Frames a second; the film is thinned out to it.") var framesPerSecond = 15
    @Flag(help: "The film is a shared screen, as text is.") var screen = false
    @Option(help: "A folder for the picture at the end of each.") var pictures: String?

    func run() throws {
        let film = try film.map { try Film(path: $0) } ?? .head
        var table = MarkdownTable("codec", "size", "asked", "took", "SSIM", "least", "ms a frame", "largest frame")
        for rate in Self.numbers(rates) {
            for height in Self.numbers(heights) {
                for codec in VideoCodec.allCases {
                    let run = try CodecRun(
                        film, codec, height: height & ~1, framesPerSecond: framesPerSecond, rate: .kilobits(rate),
                        content: screen ? .screen : .faces)
                    table.add([
                        codec.rawValue, "\(run.width)×\(height)", "\(rate)k", String(format: "%.0fk", run.kilobits),
                        String(format: "%.3f", run.likeness), String(format: "%.3f", run.least),
                        String(format: "%.1f", run.milliseconds), "\(run.largest) bytes",
                    ])
                    guard let pictures, let last = run.last else { continue }
                    let name = "\(codec.rawValue)-\(height)-\(rate)k.png"
                    try last.writePNG(path: pictures + "/" + name)
                }
            }
        }
        print(table.text)
    }

    private static func numbers(_ text: String) -> [Int] { text.split(separator: ",").compactMap { Int($0) } }
}

/// A film in YUV4MPEG2, whose pictures are read one after the other.
struct Film {
    let width: Int
    let height: Int
    let framesPerSecond: Double
    let count: Int
    let picture: (_ index: Int) -> Picture

    /// Ten seconds of the head of `Footage`, larger.
    static var head: Film {
        let (width, height, count) = (1280, 720, 300)
        let scene = HeadScene(width: width, height: height, loop: count)
        return Film(width: width, height: height, framesPerSecond: 30, count: count) { scene.picture($0) }
    }

    private init(
        width: Int, height: Int, framesPerSecond: Double, count: Int, picture: @escaping (_ index: Int) -> Picture
    ) {
        (self.width, self.height, self.framesPerSecond, self.count) = (width, height, framesPerSecond, count)
        self.picture = picture
    }

    init(path: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        guard let end = data.firstIndex(of: 0x0A) else { throw BenchError("\(path) is no YUV4MPEG2") }
        let words = String(decoding: data[..<end], as: UTF8.self).split(separator: " ")
        func value(_ letter: Character) -> Substring? { words.dropFirst().first { $0.first == letter }?.dropFirst() }
        let rate = value("F")?.split(separator: ":").compactMap { Double($0) } ?? []
        guard words.first == "YUV4MPEG2", let width = value("W").flatMap({ Int($0) }),
            let height = value("H").flatMap({ Int($0) }), rate.count == 2, rate[1] > 0,
            value("C")?.hasPrefix("420") ?? true, width % 2 == 0, height % 2 == 0
        else { throw BenchError("\(path) is no YUV4MPEG2 of 4:2:0 and even sides") }
        let size = width * height * 3 / 2
        var starts: [Int] = []
        var at = end + 1
        while at < data.count, let line = data[at...].firstIndex(of: 0x0A), line + 1 + size <= data.count {
            starts.append(line + 1)
            at = line + 1 + size
        }
        self.init(width: width, height: height, framesPerSecond: rate[0] / rate[1], count: starts.count) {
            [starts] in Self.picture(data, at: starts[$0], width, height)
        }
    }

    private static func picture(_ data: Data, at start: Int, _ width: Int, _ height: Int) -> Picture {
        let picture = Picture(width: width, height: height)
        data.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            var source = base + start
            for (plane, stride, width, height) in [
                (picture.y, picture.yStride, width, height),
                (picture.u, picture.uStride, picture.chromaWidth, picture.chromaHeight),
                (picture.v, picture.vStride, picture.chromaWidth, picture.chromaHeight),
            ] {
                for row in 0..<height {
                    (plane + row * stride).update(from: source, count: width)
                    source += width
                }
            }
        }
        return picture
    }
}

/// One encode of a film.
struct CodecRun {
    let width: Int
    private(set) var kilobits = 0.0
    /// The mean of all pictures that a viewer would see, and the least; of dropped ones it is that of the one before.
    private(set) var likeness = 0.0
    private(set) var least = 1.0
    private(set) var milliseconds = 0.0
    private(set) var largest = 0
    private(set) var last: Picture?

    init(
        _ film: Film, _ codec: VideoCodec, height: Int, framesPerSecond: Int, rate: BitRate,
        content: VideoEncoderConfiguration.Content
    ) throws {
        width = (film.width * height / film.height + 1) & ~1
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: width, height: height, framesPerSecond: Double(framesPerSecond), bitRate: rate,
                temporalLayers: framesPerSecond > 8 ? 2 : 1, content: content))
        let decoder = try BareDecoder(codec)
        let step = max(1, film.framesPerSecond / Double(framesPerSecond))
        var (bytes, frames, sum, spent) = (0, 0, 0.0, Int64(0))
        var shown: Picture?
        for index in 0... {
            let place = Int((Double(index) * step).rounded())
            guard place < film.count else { break }
            let canvas = film.picture(place)
            let small = Picture(width: width, height: height)
            Scaler.scale(from: canvas, into: small, x: 0, y: 0, width: width, height: height)
            let start = ThreadClock.nanoseconds()
            let frame = try encoder.encode(
                small, timestamp: Int64(index * 90_000 / framesPerSecond), forceKeyframe: index == 0)
            spent += ThreadClock.nanoseconds() - start
            if let frame {
                bytes += frame.data.count
                largest = max(largest, frame.data.count)
                try decoder.decode(frame.data)
                let full = Picture(width: film.width, height: film.height)
                Scaler.scale(from: decoder.picture, into: full, x: 0, y: 0, width: film.width, height: film.height)
                shown = full
            }
            guard let shown else { continue }
            let likeness = Self.likeness(canvas, shown)
            sum += likeness
            least = min(least, likeness)
            frames += 1
        }
        let count = Double(max(frames, 1))
        (likeness, milliseconds, last) = (sum / count, Double(spent) / 1e6 / count, shown)
        kilobits = Double(bytes * 8) / 1000 / (count / Double(framesPerSecond))
    }

    /// The mean structural similarity of luma in windows of 8×8, four samples apart (Wang et al., 2004).
    static func likeness(_ a: Picture, _ b: Picture) -> Double {
        let (first, second) = (6.5025, 58.5225)
        var (sum, count) = (0.0, 0)
        for top in stride(from: 0, through: a.height - 8, by: 4) {
            for left in stride(from: 0, through: a.width - 8, by: 4) {
                var (sa, sb, saa, sbb, sab) = (0, 0, 0, 0, 0)
                for row in top..<top + 8 {
                    let (x, y) = (a.y + row * a.yStride + left, b.y + row * b.yStride + left)
                    for column in 0..<8 {
                        let (p, q) = (Int(x[column]), Int(y[column]))
                        sa &+= p
                        sb &+= q
                        saa &+= p &* p
                        sbb &+= q &* q
                        sab &+= p &* q
                    }
                }
                let (ma, mb) = (Double(sa) / 64, Double(sb) / 64)
                let (va, vb) = (Double(saa) / 64 - ma * ma, Double(sbb) / 64 - mb * mb)
                let cross = Double(sab) / 64 - ma * mb
                sum +=
                    (2 * ma * mb + first) * (2 * cross + second) / ((ma * ma + mb * mb + first) * (va + vb + second))
                count += 1
            }
        }
        return sum / Double(max(count, 1))
    }
}
