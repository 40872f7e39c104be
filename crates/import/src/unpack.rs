//! Unpacks what was packed by gzip or zstd, told by its first bytes.
//!
//! Of a file that was cut, all is given that was written before the cut; then comes the error.

use std::io::{self, BufRead, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// An empty last block, and room for a checksum.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

const ONE_BLOCK: BlockDecodingStrategy = BlockDecodingStrategy::UptoBlocks(1);

const DAMAGED: &str = "zstd: the checksum is wrong, so the data is damaged";

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    None,
    Gzip,
    Zstd,
}

/// The unpacked bytes.
pub fn unpack<'a>(input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut beginning = Vec::new();
    let mut input = input;
    (&mut input).take(ZSTD.len() as u64).read_to_end(&mut beginning)?;
    let packing = packing(&beginning);
    let input = Cursor::new(beginning).chain(input);
    Ok(match packing {
        Packing::None => Box::new(input),
        Packing::Gzip => Box::new(MultiGzDecoder::new(input)),
        Packing::Zstd => Box::new(Zstd::new(input)),
    })
}

fn packing(beginning: &[u8]) -> Packing {
    match beginning {
        it if it.starts_with(&GZIP) => Packing::Gzip,
        it if it.starts_with(&ZSTD) => Packing::Zstd,
        _ => Packing::None,
    }
}

/// Frame after frame.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    state: State,
}

enum State {
    /// Before a frame's header, or at the end.
    Between,
    Within,
    /// What was unpacked so far is still to be given.
    Failed(Option<io::Error>),
}

impl<R: BufRead> Zstd<R> {
    fn new(input: R) -> Self {
        Self { input, decoder: FrameDecoder::new(), state: State::Between }
    }

    /// Whether there is a frame.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(length.into())?,
                Err(error) => return Err(because(error)),
            }
        }
        Ok(false)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        match io::copy(&mut (&mut self.input).take(length), &mut io::sink())? == length {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Unpacks one block. The decoder keeps back what later blocks may refer to: where there are
    /// none, the frame is ended.
    fn unpack_block(&mut self) {
        if let Err(error) = self.decoder.decode_blocks(&mut self.input, ONE_BLOCK) {
            self.state = State::Failed(Some(because(error)));
            if !self.decoder.is_finished() {
                // An empty block can't fail, and if it did, it is the error above that counts.
                let _ = self.decoder.decode_blocks(&LAST_BLOCK[..], ONE_BLOCK);
            }
        }
    }

    /// What the finished frame's checksum says, if it has one.
    fn is_intact(&self) -> bool {
        let told = self.decoder.get_checksum_from_data();
        told.is_none() || told == self.decoder.get_calculated_checksum()
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            match &mut self.state {
                State::Failed(error) => return error.take().map_or(Ok(0), Err),
                State::Within if self.decoder.is_finished() => {
                    self.state = match self.is_intact() {
                        true => State::Between,
                        false => State::Failed(Some(io::Error::other(DAMAGED))),
                    };
                }
                State::Within => self.unpack_block(),
                State::Between => match self.begin_frame() {
                    Ok(true) => self.state = State::Within,
                    Ok(false) => return Ok(0),
                    Err(error) => self.state = State::Failed(Some(error)),
                },
            }
        }
    }
}

/// A cut is told from other damage.
fn because(error: FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(current) = cause {
        if let Some(io) = current.downcast_ref::<io::Error>() {
            return io::Error::new(io.kind(), format!("zstd: {io}"));
        }
        cause = current.source();
    }
    io::Error::other(format!("zstd: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn text() -> Vec<u8> {
        (0..60_000_u64).flat_map(|n| format!("{:x} ", n * n % 9973).into_bytes()).collect()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    /// All that is given, and whether an error came then.
    fn unpacked(packed: &[u8]) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut all = Vec::new();
        let outcome = unpack(packed).unwrap().read_to_end(&mut all);
        (all, outcome.err().map(|error| error.kind()))
    }

    #[test]
    fn what_was_packed_comes_out() {
        let text = text();
        assert_eq!(unpacked(&text), (text.clone(), None));
        assert_eq!(unpacked(&gzip(&text)), (text.clone(), None));
        assert_eq!(unpacked(&zstd(&text)), (text.clone(), None));
        assert_eq!(unpacked(b""), (Vec::new(), None));
        assert_eq!(unpacked(&gzip(b"")), (Vec::new(), None));
        assert_eq!(unpacked(&zstd(b"")), (Vec::new(), None));
    }

    #[test]
    fn one_packed_file_behind_another_is_read_too() {
        let (first, second) = (text(), b"and more".to_vec());
        let both = [&first[..], &second].concat();
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9][..]].concat();
        assert_eq!(unpacked(&[gzip(&first), gzip(&second)].concat()), (both.clone(), None));
        assert_eq!(unpacked(&[zstd(&first), skipped, zstd(&second)].concat()), (both, None));
    }

    #[test]
    fn of_a_cut_file_everything_before_the_cut_comes_out() {
        let text = text();
        for packed in [gzip(&text), zstd(&text)] {
            let mut longest = 0;
            for len in (20..packed.len() - 8).step_by(997) {
                let (found, error) = unpacked(&packed[..len]);
                assert_eq!(error, Some(io::ErrorKind::UnexpectedEof), "{len}");
                assert!(text.starts_with(&found), "{len}");
                assert!(found.len() >= longest, "{len}");
                longest = found.len();
            }
            assert!(longest * 3 > text.len(), "{longest} of {}", text.len());
        }
    }

    #[test]
    fn damage_is_no_end() {
        let text = text();
        let mut packed = zstd(&text);
        let middle = packed.len() / 2;
        packed[middle] ^= 0x55;
        assert!(unpacked(&packed).1.is_some());
        assert!(unpacked(&[zstd(&text), b"no frame".to_vec()].concat()).1.is_some());
    }
}
