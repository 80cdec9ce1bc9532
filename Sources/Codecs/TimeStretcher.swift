import Glibc

/// Plays speech a little faster or slower at the same pitch: whole pitch periods are removed or repeated, with a
/// cross-fade over the joint. Mono, 48 kHz; adds no delay, and does not change the samples at tempo 1.
package struct TimeStretcher: Sendable {
    /// Samples that are still to be removed (above zero) or inserted (below zero) to reach the tempo.
    private var debt = 0.0

    /// The range of pitch periods in the search: 400 Hz to 80 Hz. Higher and lower voices match a multiple or a part of
    /// their period.
    private static let shortestLag = 120
    private static let longestLag = 600
    /// The search runs on every fourth sample first.
    private static let coarse = 4
    /// The range to which the tempo is clamped.
    package static let tempoRange = 0.75...1.3

    package init() {}

    /// Appends `samples` stretched to `tempo` (above 1: faster, with fewer samples), in blocks of 10 to 60 ms.
    ///
    /// The length is right on average, not for each block, because only whole periods are removed or inserted.
    package mutating func stretch(_ samples: UnsafeBufferPointer<Float>, tempo: Double, into output: inout [Float]) {
        guard abs(tempo - 1) > 0.005 else {
            debt = 0
            output.append(contentsOf: samples)
            return
        }
        let tempo = min(max(tempo, Self.tempoRange.lowerBound), Self.tempoRange.upperBound)
        debt += Double(samples.count) * (1 - 1 / tempo)
        debt = min(max(debt, Double(-2 * Self.longestLag)), Double(2 * Self.longestLag))
        let most = min(Self.longestLag, samples.count * 5 / 8)
        guard abs(debt) >= Double(Self.shortestLag), most >= Self.shortestLag else {
            output.append(contentsOf: samples)
            return
        }
        let period = bestLag(samples, most: most)
        // As many periods at once as are due and fit into the block.
        let times = min(Int(abs(debt)) / period, most / period)
        guard times > 0 else {
            output.append(contentsOf: samples)
            return
        }
        let lag = times * period
        if debt > 0 {
            remove(lag, samples, into: &output)
            debt -= Double(lag)
        } else {
            insert(lag, samples, into: &output)
            debt += Double(lag)
        }
    }

    /// Stretches the samples of an array.
    package mutating func stretch(_ samples: [Float], tempo: Double, into output: inout [Float]) {
        samples.withUnsafeBufferPointer { stretch($0, tempo: tempo, into: &output) }
    }

    /// Fades x[0…] into x[lag…], which removes `lag` samples.
    private func remove(_ lag: Int, _ x: UnsafeBufferPointer<Float>, into output: inout [Float]) {
        let overlap = min(lag, x.count - lag)
        for index in 0..<overlap {
            let weight = Self.fade(index, overlap)
            output.append(x[index] * (1 - weight) + x[lag + index] * weight)
        }
        output.append(contentsOf: x[(lag + overlap)...])
    }

    /// Appends x[0..<lag], then fades x[lag…] into x[0…], which repeats `lag` samples.
    private func insert(_ lag: Int, _ x: UnsafeBufferPointer<Float>, into output: inout [Float]) {
        let overlap = min(lag, x.count - lag)
        output.append(contentsOf: x[..<lag])
        for index in 0..<overlap {
            let weight = Self.fade(index, overlap)
            output.append(x[lag + index] * (1 - weight) + x[index] * weight)
        }
        output.append(contentsOf: x[overlap...])
    }

    /// A raised cosine from 0 to 1.
    private static func fade(_ index: Int, _ count: Int) -> Float {
        0.5 - 0.5 * cosf(Float.pi * (Float(index) + 0.5) / Float(count))
    }

    /// The lag with the highest self-correlation of the block: searched on a grid first, then by the sample around the
    /// best.
    private func bestLag(_ x: UnsafeBufferPointer<Float>, most: Int) -> Int {
        var best = Self.shortestLag
        var bestLikeness = -Float.infinity
        for lag in stride(from: Self.shortestLag, through: most, by: Self.coarse) {
            let value = correlation(x, lag: lag, step: Self.coarse)
            if value > bestLikeness {
                bestLikeness = value
                best = lag
            }
        }
        let around = max(best - Self.coarse, Self.shortestLag)...min(best + Self.coarse, most)
        bestLikeness = -Float.infinity
        for lag in around {
            let value = correlation(x, lag: lag, step: 1)
            if value > bestLikeness {
                bestLikeness = value
                best = lag
            }
        }
        return best
    }

    /// The normalised correlation of the block's start with the samples `lag` later; 1 for equal ones.
    private func correlation(_ x: UnsafeBufferPointer<Float>, lag: Int, step: Int) -> Float {
        let count = min(lag, x.count - lag)
        var product: Float = 0
        var first: Float = 1e-9
        var second: Float = 1e-9
        var index = 0
        while index < count {
            let a = x[index]
            let b = x[index + lag]
            product += a * b
            first += a * a
            second += b * b
            index += step
        }
        return product / (first * second).squareRoot()
    }
}
