public import Foundation

extension FuzzTarget {
    /// A short run without a fuzzer: the seeds, then `seededRounds` damaged ones, all determined by `seed`.
    public func run(seed: UInt64) {
        let corpus = seeds
        var mutator = Mutator(seed: seed)
        for bytes in corpus { run(bytes) }
        for _ in 0..<seededRounds {
            guard let origin = corpus.randomElement(using: &mutator.random) else { return }
            run(mutator.mutate(origin, with: corpus))
        }
    }

    /// The folder `Crashers` relative to this source: tests run on the machine that built them.
    public static let crasherFolder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../Crashers")
        .standardizedFileURL

    /// The earlier findings: the files of `Crashers/NAME`.
    public func crashers() throws -> [(name: String, bytes: [UInt8])] {
        let folder = Self.crasherFolder.appendingPathComponent(name)
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).sorted {
            $0.path < $1.path
        }
        .map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
    }

    /// Writes the seeds to the fuzzer's corpus folder, and the dictionary beside them.
    public func writeSeeds(to folder: URL) throws {
        let corpus = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: corpus, withIntermediateDirectories: true)
        for (index, bytes) in seeds.enumerated() {
            try Data(bytes).write(to: corpus.appendingPathComponent("seed-\(index)"))
        }
        guard !words.isEmpty else { return }
        let lines = words.map { word in
            "\"" + word.utf8.map { byte in "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() + "\"\n"
        }
        try Data(lines.joined().utf8).write(to: folder.appendingPathComponent("\(name).dict"))
    }
}
